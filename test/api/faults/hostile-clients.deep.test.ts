/** HOSTILE_MINUTES says for how long; run with `--reporter=verbose` to see the figures. */
import { mkdtemp } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDatabase } from '../../../dev/database/databases.ts';
import { startPostgres } from '../../../dev/database/postgres.ts';
import { peakResidentBytes } from '../../../dev/processes/stats.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { createClient } from '../../../src/client/client.ts';
import { atEnd } from '../harness.ts';
import { ApiProcess, removeFolder } from './api-process.ts';

const MINUTES = Number(process.env.HOSTILE_MINUTES ?? 10);
const MIB = 1024 * 1024;
const KEY = 'tnl_ak_of_who_does_not_read_0123456789';

const LISTS = 60;
const UPLOADS = 800;
/** After which a connection that was cut or refused is made again. */
const AGAIN_MS = 5_000;
/** After which who does not read comes again: later than it is cut, which it does not see. */
const BLIND_MS = 75_000;

test(`a process of 512 MiB survives ${MINUTES} minutes of ${LISTS} unread lists and ${UPLOADS} stalled uploads, and other keys do not feel it`, {
  timeout: (MINUTES + 3) * 60_000,
  skip: process.platform !== 'linux',
}, async ({ annotate }) => {
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-hostile-'));
  atEnd(removeFolder(folder));
  const postgres = await startPostgres();
  atEnd(() => postgres.stop());
  const databaseUrl = await createDatabase(postgres.url, 'hostile');
  await migrate(databaseUrl);
  const api = await ApiProcess.start({
    folder,
    name: 'api',
    databaseUrl,
    apiKey: KEY,
    // What Node gives itself where the container has 512 MiB.
    env: { LOG_LEVEL: 'warn', NODE_OPTIONS: '--max-old-space-size=256' },
  });
  atEnd(() => api.stop());

  for (let n = 0; n < 100; n++) {
    await api.client.httpResponseBackends.create({ body: '\u0001'.repeat(65_536) });
  }
  const { id: owner } = await api.client.botUsers.create({ name: 'who reads' });
  const { token } = await api.client.apiKeys.create({ owner_id: owner });
  const other = createClient({ baseUrl: api.url, apiKey: token ?? '', retries: 0, timeoutMs: 30_000 });
  atEnd(() => other.destroy());
  const { id } = await other.ipPolicies.create({ description: 'read by others' });

  const head = ['host: a', `authorization: Bearer ${KEY}`];
  const list = ['GET /backends/http_response?limit=100 HTTP/1.1', ...head, '', ''].join('\r\n');
  const type = 'content-type: application/json';
  const upload = Buffer.concat([
    Buffer.from(['POST /ip_policies HTTP/1.1', ...head, type, `content-length: ${MIB}`, '', ''].join('\r\n')),
    Buffer.alloc(MIB - 1, 'x'),
  ]);
  const crowd = new Crowd(new URL(api.url));
  try {
    // Several lists on one connection, since the kernel takes the first megabytes of what nobody reads.
    for (let n = 0; n < LISTS; n++) crowd.join(Buffer.from(list.repeat(8)), BLIND_MS);
    for (let n = 0; n < UPLOADS; n++) crowd.join(upload);

    const latencies: number[] = [];
    const failures: unknown[] = [];
    const end = performance.now() + MINUTES * 60_000;
    while (performance.now() < end) {
      const before = performance.now();
      await other.ipPolicies.get(id).catch((error: unknown) => failures.push(error));
      latencies.push(performance.now() - before);
      await new Promise((wake) => setTimeout(wake, 50));
    }
    const peak = await peakResidentBytes(api.pid);
    const sorted = latencies.toSorted((a, b) => a - b);
    const at = (share: number) => Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 10) / 10;
    const figures = { gets: latencies.length, failures: failures.length, p50: at(0.5), p99: at(0.99), max: at(0.9999) };
    await annotate(JSON.stringify({ ...figures, peakMiB: Math.round(peak / MIB), connections: crowd.joined }));
    expect(failures).toEqual([]);
    expect(api.kills).toBe(0);
    expect(peak).toBeLessThan(512 * MIB);
    expect(at(0.5)).toBeLessThan(100);
  } finally {
    crowd.leave();
  }
});

/** Clients that send what they are told and come again. */
class Crowd {
  /** How many connections there have been. */
  joined = 0;
  readonly #to: URL;
  readonly #sockets = new Set<Socket>();
  #left = false;

  constructor(to: URL) {
    this.#to = to;
  }

  /** @param blindMs does not read for so long; reads if there is none */
  join(bytes: Buffer, blindMs?: number): void {
    if (this.#left) return;
    this.joined++;
    const socket = connect(Number(this.#to.port), this.#to.hostname, () => {
      if (blindMs === undefined) socket.resume();
      else setTimeout(() => socket.destroy(), blindMs).unref();
      socket.write(bytes);
    });
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      setTimeout(() => this.join(bytes, blindMs), AGAIN_MS).unref();
    });
  }

  leave(): void {
    this.#left = true;
    for (const socket of this.#sockets) socket.destroy();
  }
}
