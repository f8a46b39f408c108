/** A secret shows only in its Secret, and not in logs, errors or other output. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { kindRows } from '../../dev/fixtures/kinds.ts';
import { wholeModule } from '../../dev/fixtures/module-drifts.ts';
import type { Values } from '../../dev/fixtures/placeholders.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { type DataObject, fromSecret } from '../../dev/fixtures/source-texts.ts';
import { modulesRows, type StoryRow } from '../../dev/fixtures/story-rows.ts';
import { isDeclarable } from '../../src/operator/kinds/family-fields.ts';
import type { Handout } from '../../src/operator/managed/declaration/handout.ts';
import { manifest } from './manifest.ts';
import { API_KEY, eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'secrecy', settings: { resyncMs: 300 } });
const { namespace } = stack;
const post = postTo(stack.api.url, API_KEY);

/** Every table, row by row; the bytes of binary columns are also included as text. */
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

/** The API's responses to malformed and unauthorized requests that contain the token. */
async function errorsAbout(token: string): Promise<string[]> {
  const answers = [
    ...[{ token, bind: 'not a target' }, { token: `${token}\u0000` }, { token, more: token }].map((body) =>
      fetch(`${stack.api.url}/credentials/authenticate`, {
        method: 'POST',
        headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    ),
    fetch(`${stack.api.url}/credentials`, { headers: { authorization: `Bearer ${token}` } }),
  ];
  const responses = await Promise.all(answers);
  expect(responses.map(({ status }) => status)).toEqual([400, 400, 400, 401]);
  return Promise.all(responses.map((response) => response.text()));
}

/** The places where no secret belongs, with their content. */
async function places() {
  const operator = await stack.restart();
  const shown = async (...args: string[]) => (await stack.run(...args, '-o', 'yaml')).stdout;
  const metrics = await fetch(`${operator.healthUrl}/metrics`);
  return {
    'the log of the operator': stack.logs.join(''),
    'the log of the API': stack.apiLogs.join(''),
    'the Events': await shown('get', 'events'),
    'the objects': await shown('get', 'tunnels'),
    'the leases': await shown('get', 'leases'),
    'the metrics of the operator': await metrics.text(),
    'the metrics of the API': await (await fetch(stack.api.metricsUrl)).text(),
    'a dump of the database': await dump(),
  };
}

function expectNowhere(secrets: readonly string[], found: Record<string, string>): void {
  for (const [place, text] of Object.entries(found)) {
    for (const secret of [...secrets, API_KEY]) {
      // Also without the prefix that all tokens share, in base64 as in a Secret, and in hex.
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
    // This includes the private keys of SSH authorities, which only the API knows.
    expect(text, place).not.toMatch(/BEGIN [A-Z ]*PRIVATE KEY/);
  }
}

describe('no secret is in logs, Events, metrics, objects, error bodies or a dump of the database', () => {
  const secrets = new Map<string, string[]>();
  const keep = (where: string, ...values: string[]) => secrets.set(where, [...(secrets.get(where) ?? []), ...values]);
  const record = z.record(z.string(), z.unknown());

  /** The same settings with unique client secrets. */
  function hidden(settings: Values, where: string): Values {
    const members = Object.entries(settings).map(([name, member]) => {
      if (name !== 'client_secret')
        return [name, record.safeParse(member).success ? hidden(record.parse(member), where) : member];
      const secret = `hidden-${randomUUID()}`;
      keep(where, secret);
      return [name, secret];
    });
    return Object.fromEntries(members);
  }

  async function made(
    row: Pick<StoryRow, 'name' | 'type'>,
    { spec, objects }: { spec: object; objects: readonly DataObject[] },
  ) {
    const name = `${row.type.plural}-kept`;
    await stack.apply(...objects, manifest(row.name, name, spec));
    const { status } = await stack.ready(row.type, name);
    return { name, status };
  }

  /** Rotates the secret; returns the first value and the second. */
  async function rotated({ type }: Pick<StoryRow, 'type'>, name: string, secretName: string, { key }: Handout) {
    const value = async () => (await stack.secret(secretName))?.[key] ?? '';
    const first = await value();
    await stack.annotate(type, name, { 'tunnel-operator.dev/rotate-requested-at': 'now' });
    await eventually(async () => expect(await value()).not.toBe(first));
    return [first, await value()];
  }

  /** Makes the secret unusable, so that it is refused: a broken PEM by the API, an overlong text by the operator. */
  async function spoil(
    { type }: Pick<StoryRow, 'type'>,
    name: string,
    objects: readonly DataObject[],
    own: readonly string[],
  ) {
    const spoilt = (text: string) => (text.startsWith('-----') ? text.replace('-----END', 'END') : text.repeat(500));
    for (const { stringData = {}, ...object } of objects) {
      // Breaks the certificate as well: with only another key, it would match the one in the API.
      const wrong = Object.entries(stringData).filter(
        ([, text]) => text.startsWith('-----') || own.some((secret) => text.includes(secret)),
      );
      const texts = Object.fromEntries(wrong.map(([key, text]) => [key, spoilt(text)]));
      const changed: DataObject = { ...object, stringData: { ...stringData, ...texts } };
      // Not `apply`, which fails on the API server's warning about text that is not PEM.
      expect(await stack.tryApply(changed)).toMatchObject({ code: 0 });
    }
    await eventually(async () => {
      const { status } = await stack.see(type, name);
      expect((status.conditions ?? []).map((condition) => condition.status)).toContain('False');
    });
  }

  test.for(kindRows.map((row, at) => ({ row, name: row.name, at })))('(setup of $name)', async ({ row, at }) => {
    const { another } = await row.declare(post, 1 + at, fromSecret);
    const { name, status } = await made(row, another);
    const handout: Handout | undefined = row.kind.delivery?.handout;
    if (handout?.isOneTime)
      keep(`${row.name}.${handout.key}`, ...(await rotated(row, name, String(status.secretName), handout)));
    const given = row.kind.fields.filter((each) => isDeclarable(each) && each.field.storage === 'none');
    for (const field of given) {
      // Of a PEM, the first line of its content: later lines also contain public data.
      const secret = String(another.body[field.name]).split('\n')[1] ?? '';
      keep(`${row.name}.${field.name}`, secret);
      await spoil(row, name, another.objects, [secret]);
    }
  });

  test.for(modulesRows.map((row, at) => ({ row, name: row.name, at })))('(setup of $name)', async ({ row, at }) => {
    const { attached } = row;
    const modules = attached.modules.map((each) => {
      const where = `${row.name}.${each.name}`;
      const settings = hidden(wholeModule(attached, each), where);
      expect(secrets.get(where) ?? []).toHaveLength(each.fields.filter(({ field }) => field.sealed).length);
      return [each.name, settings] as const;
    });
    const story = await row.declare(post, 101 + at);
    const declaration = story.choose(Object.fromEntries(modules), fromSecret);
    const { name } = await made(row, declaration);
    const own = attached.modules.flatMap((each) => secrets.get(`${row.name}.${each.name}`) ?? []);
    if (own.length > 0) await spoil(row, name, declaration.objects, own);
  });

  test('(of any kind)', async () => {
    expect([...secrets.keys()].toSorted()).toEqual([
      'APIKey.token',
      'EventDestination.signing-secret',
      'HTTPSEdgeRouteModules.oauth',
      'HTTPSEdgeRouteModules.oidc',
      'TLSCertificate.private_key_pem',
      'TunnelCredential.token',
    ]);
    const all = [...secrets.values()].flat();
    expect(all.filter((secret) => secret.length < 32)).toEqual([]);
    const errors = await errorsAbout(secrets.get('TunnelCredential.token')?.at(-1) ?? '');
    const found = await places();
    expectNowhere(all, { ...found, 'what errors say': errors.join('\n') });
    for (const place of ['the log of the operator', 'the Events', 'a dump of the database'] as const)
      expect(found[place].length, place).toBeGreaterThan(500);
    // Metrics contain no name, namespace or id either.
    for (const place of ['the metrics of the operator', 'the metrics of the API'] as const) {
      for (const chosen of [namespace, '-kept', ...(await stack.remoteIds())])
        expect(found[place], place).not.toContain(chosen);
    }
  });
});
