/** A token is in its Secret and with its agents, and nowhere else. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { API_KEY, CREDENTIALS, credential, eventually, SECRETS, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'secrecy', settings: { resyncMs: 300 } });
const { client, kube, namespace } = stack;

const token = async (name: string) => (await stack.secret(name))?.token ?? '';
const replaced = (name: string, ...before: string[]) =>
  eventually(async () => {
    const now = await token(name);
    expect(before).not.toContain(now);
    expect(await stack.accepts(now)).toBe(true);
    return now;
  });

/** Every table, row by row, with the bytes of binary columns as text, too. */
async function dump(): Promise<string> {
  const tables = await stack.sql(`select quote_ident(table_schema) || '.' || quote_ident(table_name) as name
    from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema')`);
  const parts: string[] = [];
  for (const { name } of tables) {
    for (const row of await stack.sql(`select * from ${name}`)) {
      parts.push(JSON.stringify(row));
      for (const value of Object.values(row)) if (Buffer.isBuffer(value)) parts.push(value.toString('latin1'));
    }
  }
  return parts.join('\n');
}

/** One life of credentials in which each token is made, moved, lost, rotated and refused. */
async function live(): Promise<{ tokens: string[]; errors: string }> {
  const errors: string[] = [];
  await stack.apply(credential('one', { rotation: { overlap: '1h' } }), credential('two', { acl: ['bind:a.example'] }));
  await stack.ready(CREDENTIALS, 'one');
  await stack.ready(CREDENTIALS, 'two');
  const first = await token('one');
  const two = await token('two');
  await stack.run('annotate', 'tcred', 'one', 'tunnel-operator.dev/rotate-requested-at=now');
  const second = await replaced('one', first);
  await stack.run('delete', 'secret', 'one');
  const third = await replaced('one', second);
  await stack.apply(credential('two', { secret: { name: 'moved' } }));
  await eventually(async () => expect(await token('moved')).toBe(two));
  // Somebody puts a token where none belongs, and Secrets that are not ours stand in the way.
  await stack.run('patch', 'secret', 'moved', '--type=merge', '-p', JSON.stringify({ stringData: { token: first } }));
  const fourth = await replaced('moved', two, first);
  await stack.run('create', 'secret', 'generic', 'three', `--from-literal=token=${fourth}`);
  await stack.apply(credential('three'));
  errors.push((await stack.reason(CREDENTIALS, 'three', 'Ready', 'SecretConflict')).ready?.message ?? '');
  // What a data plane sends may be malformed all around the token.
  for (const body of [
    { token: third, bind: 'not a target' },
    { token: `${third}\u0000` },
    { token: third, more: third },
  ]) {
    const response = await fetch(`${stack.api.url}/credentials/authenticate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(400);
    errors.push(await response.text());
  }
  const response = await fetch(`${stack.api.url}/credentials`, { headers: { authorization: `Bearer ${third}` } });
  expect(response.status).toBe(401);
  errors.push(await response.text());
  for await (const view of client.credentials.list()) errors.push(JSON.stringify(view));
  return { tokens: [first, second, third, fourth, two], errors: errors.join('\n') };
}

test('no token is in logs, Events, metrics, objects, error bodies or a dump of the database', async () => {
  const { tokens, errors } = await live();
  expect(new Set(tokens).size).toBe(5);
  const operator = await stack.restart();
  const shown = async (...args: string[]) => (await stack.run(...args, '-o', 'yaml')).stdout;
  const metrics = await fetch(`${operator.healthUrl}/metrics`);
  const places = {
    'the log of the operator': stack.logs.join(''),
    'the log of the API': stack.apiLogs.join(''),
    'the Events': await shown('get', 'events'),
    'the credentials': await shown('get', 'tunnels'),
    'the leases': await shown('get', 'leases'),
    'the metrics of the operator': await metrics.text(),
    'the metrics of the API': await (await fetch(stack.api.metricsUrl)).text(),
    'what errors say': errors,
    'a dump of the database': await dump(),
  };
  for (const [place, text] of Object.entries(places)) {
    for (const secret of [...tokens, API_KEY]) {
      // Also without the prefix that all tokens share, and as a Secret has it.
      const forms = [
        secret,
        secret.slice(-32),
        Buffer.from(secret).toString('base64').slice(0, -4),
        Buffer.from(secret).toString('hex'),
      ];
      expect(
        forms.filter((form) => text.includes(form)),
        place,
      ).toEqual([]);
    }
  }
  for (const name of [
    'the log of the operator',
    'the Events',
    'the metrics of the operator',
    'a dump of the database',
  ]) {
    expect(places[name as keyof typeof places].length, name).toBeGreaterThan(500);
  }
});

test('the metadata of a Secret has no more of its token than the SHA-256', async () => {
  const { metadata } = await kube.get(SECRETS, 'one', namespace);
  const value = await token('one');
  expect(JSON.stringify(metadata)).not.toContain(value.slice(-32));
  expect(metadata.annotations).toEqual({
    'tunnel-operator.dev/token-sha256': createHash('sha256').update(value).digest('hex'),
  });
});
