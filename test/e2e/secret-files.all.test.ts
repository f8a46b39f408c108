/** API and operator whose secrets are files, which change while both run. */
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { startProgram, untilAnswering } from '../../dev/processes/program.ts';
import { migrate } from '../../src/api/store/migrate.ts';
import { createClient } from '../../src/client/client.ts';
import { freePort } from '../../src/postgres/ports.ts';
import { OperatorProcess } from '../crash/operator-process.ts';
import { cluster, createNamespace, createTestDatabase, installCrds, kubectl, testPool } from '../harness.ts';
import { startReceiver } from '../tracing/receiver.ts';
import { policy } from './manifest.ts';
import { API_KEY, ENCRYPTION_KEY, eventually } from './stack.ts';

const folder = await mkdtemp(join(tmpdir(), 'secret-files-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

const file = (name: string) => join(folder, 'mounted', name);
async function put(name: string, text: string): Promise<string> {
  await mkdir(dirname(file(name)), { recursive: true });
  await writeFile(file(`${name}.new`), text);
  await rename(file(`${name}.new`), file(name));
  return file(name);
}

const ROLE = `role_${randomBytes(5).toString('hex')}`;

test('a new database password, API key and header for traces are used without a restart', {
  timeout: 120_000,
}, async () => {
  const [{ kubeconfigPath }, namespace, databaseUrl, port, receiver] = await Promise.all([
    cluster(),
    createNamespace('secret-files'),
    createTestDatabase({ name: 'template_api', prepare: async (url) => void (await migrate(url)) }),
    freePort(),
    startReceiver(),
    installCrds(),
  ]);
  onTestFinished(() => receiver.close());
  const admin = testPool(databaseUrl, 1);
  onTestFinished(async () => {
    await admin.query(`drop owned by ${ROLE}; drop role ${ROLE}`);
    await admin.end();
  });
  await admin.query(`create role ${ROLE} login superuser password 'first'`);
  const withPassword = (password: string) => {
    const url = new URL(databaseUrl);
    url.username = ROLE;
    url.password = password;
    return url.href;
  };
  const apiUrl = `http://127.0.0.1:${port}`;
  const server = startProgram(['api', '--port', String(port)], {
    name: 'api',
    folder,
    env: {
      LOG_FORMAT: 'json',
      DATABASE_URL_FILE: await put('database-url', withPassword('first')),
      ENCRYPTION_KEY_FILE: await put('encryption-key', ENCRYPTION_KEY),
      BOOTSTRAP_API_KEY_FILE: await put('bootstrap-api-key', `${API_KEY}\n`),
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS_FILE: await put('headers', 'authorization=Bearer%20first'),
      OTEL_BSP_SCHEDULE_DELAY: '100',
    },
  });
  onTestFinished(async () => void (await server.stop({ graceMs: 30_000 })));
  await untilAnswering(server, `${apiUrl}/readyz`);
  const client = createClient({ baseUrl: apiUrl, apiKey: API_KEY });
  onTestFinished(() => client.destroy());
  const { owner } = await client.whoami();
  const keys = [
    await client.apiKeys.create({ owner_id: owner.id }),
    await client.apiKeys.create({ owner_id: owner.id }),
  ];
  const operator = new OperatorProcess({
    ...{ folder, name: 'operator', apiUrl, apiKey: '', kubeconfigPath, namespace },
    compileCache: join(folder, 'compiled'),
    env: { TUNNEL_API_KEY_FILE: await put('api-key', keys[0]?.token ?? '') },
  });
  onTestFinished(async () => void (await operator.stop()));
  const applied = async (name: string) => {
    const input = JSON.stringify(policy(name));
    for (const args of [
      ['apply', '-f', '-'],
      ['wait', '--for=condition=Ready', '--timeout=30s', '-f', '-'],
    ])
      expect(await kubectl(['-n', namespace, ...args], { input })).toMatchObject({ code: 0 });
  };
  await applied('before');

  await admin.query(`alter role ${ROLE} password 'second'`);
  await put('database-url', withPassword('second'));
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [ROLE]);
  await eventually(async () => expect((await client.ipPolicies.page()).items).toHaveLength(1));

  await put('api-key', keys[1]?.token ?? '');
  await client.apiKeys.delete(keys[0]?.id ?? '');
  await applied('after');

  await put('headers', 'authorization=Bearer%20second');
  const sent = () => receiver.requests.map(({ headers }) => headers.authorization);
  await eventually(async () => {
    await client.whoami();
    expect([...new Set(sent())]).toEqual(['Bearer first', 'Bearer second']);
  });
});
