/** The API on a database, and schemathesis running against it: valid and invalid requests from its OpenAPI document. */
import { type StdioOptions, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { z } from 'zod';
import { KEY_BYTES } from '../../src/api/secrets/keyring.ts';
import { startApi } from '../../src/api/server.ts';
import { createClient } from '../../src/client/client.ts';
import { makeCertificate } from '../fixtures/x509.ts';

const ADMIN_KEY = 'tnl_ak_of_the_fuzz_test_0123456789';
const HERE = import.meta.dirname;

interface FuzzTarget {
  url: string;
  admin: FuzzCaller;
  user: FuzzCaller;
  /** Lines that the API should not have logged: internal errors, and secrets. */
  badLines(): string[];
  stop(): Promise<void>;
}

interface FuzzCaller {
  key: string;
  /** What later requests need: keys and their owners (otherwise everything is 401), and the domain. */
  keptIds: string[];
}

/**
 * Tokens are recognized by their form, since only schemathesis sees the ones it creates; other secrets by their prefixes. The
 * label of a PEM block alone is not a secret: the reason of a 400 names it.
 */
const SECRET = /tnl_(?:ak|cr)_[0-9A-Za-z]{43}|tnl_ak_of_the_fuzz_test|whsec_[A-Za-z0-9+/]{32}|PRIVATE KEY-----/;

const line = z.object({ level: z.number() });

/** Starts the API, without limits, on an empty database. */
export async function startTarget(databaseUrl: string): Promise<FuzzTarget> {
  const bad: string[] = [];
  const write = (text: string) => {
    if (SECRET.test(text) || line.parse(JSON.parse(text)).level >= 50) bad.push(text);
  };
  const api = await startApi(
    {
      databaseUrl,
      port: 0,
      bootstrapApiKey: ADMIN_KEY,
      encryptionKey: [{ id: 'fuzz', bytes: Buffer.alloc(KEY_BYTES, 7) }],
      rateLimit: 0,
      rateLimitPerOwner: 0,
      rateLimitUnauthenticated: 0,
      maxEventLoopDelayMs: 0,
    },
    pino({ level: 'debug' }, { write }),
  );
  const client = createClient({ baseUrl: api.url, apiKey: ADMIN_KEY });
  try {
    const [adminKey] = (await client.apiKeys.page()).items;
    const user = await client.users.create({ name: 'fuzz' });
    const userKey = await client.apiKeys.create({ owner_id: user.id });
    // A generator cannot invent these: certificates, and a domain that covers the hostports of the examples.
    const { pem, keyPem } = await makeCertificate({ names: [{ type: 'dns', value: '*.example.com' }] });
    await client.tlsCertificates.create({ certificate_pem: pem, private_key_pem: keyPem });
    const domain = await client.reservedDomains.create({ domain: '*.example.com' });
    const keptIds = [domain.id, ...[adminKey, userKey].flatMap((key) => (key ? [key.id, key.owner_id] : []))];
    return {
      url: api.url,
      admin: { key: ADMIN_KEY, keptIds },
      user: { key: z.string().parse(userKey.token), keptIds },
      badLines: () => bad,
      stop: api.stop,
    };
  } catch (error) {
    await api.stop();
    throw error;
  } finally {
    await client.close();
  }
}

interface FuzzOptions {
  /** Path of the program. */
  schemathesis: string;
  target: FuzzTarget;
  as: FuzzCaller;
  seed: number;
  /** More arguments of `schemathesis run`. */
  args: readonly string[];
  /** Returns the report; by default it goes to the standard output of this process. */
  quiet?: boolean;
}

/** Whether nothing was found; and the report, if `quiet`. */
export async function fuzz(options: FuzzOptions): Promise<{ ok: boolean; report: string }> {
  const { schemathesis, target, as, seed, args, quiet = false } = options;
  const cwd = await mkdtemp(join(tmpdir(), 'tunnel-operator-fuzz-'));
  const all = ['--config-file', join(HERE, 'schemathesis.toml'), 'run', `${target.url}/openapi.json`];
  const stdio: StdioOptions = ['ignore', quiet ? 'pipe' : 'inherit', quiet ? 'pipe' : 'inherit'];
  const child = spawn(schemathesis, [...all, '--no-color', '--seed', String(seed), ...args], {
    // It keeps its findings in its working directory.
    cwd,
    stdio,
    env: {
      ...process.env,
      SCHEMATHESIS_HOOKS: join(HERE, 'hooks.py'),
      FUZZ_API_KEY: as.key,
      FUZZ_KEPT_IDS: as.keptIds.join(','),
      PYTHONDONTWRITEBYTECODE: '1',
    },
  });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  let report = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (report += text));
  try {
    const code = await new Promise((done, failed) => child.on('close', done).on('error', failed));
    return { ok: code === 0, report };
  } finally {
    process.off('exit', end);
    await rm(cwd, { recursive: true, force: true });
  }
}
