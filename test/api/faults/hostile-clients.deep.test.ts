/** HOSTILE_MINUTES says for how long; run with `--reporter=verbose` to see the figures. */
import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createDatabase } from '../../../dev/database/databases.ts';
import { startPostgres } from '../../../dev/database/postgres.ts';
import { peakResidentBytes } from '../../../dev/processes/stats.ts';
import { BYTES_IN_FLIGHT, MAX_PAGE_BYTES } from '../../../src/api/guard/bytes-in-flight.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { createClient } from '../../../src/client/client.ts';
import { atEnd } from '../../end-of-file.ts';
import { ApiProcess, removeFolder } from './api-process.ts';

const MINUTES = Number(process.env.HOSTILE_MINUTES ?? 10);
const MIB = 1024 * 1024;
const KEY = 'tnl_ak_of_who_does_not_read_0123456789';

const LISTS = 60;
const UPLOADS = 800;
/**
 * Of strangers: connections that send nothing, or only a byte, more than one address may have, and such that ask without
 * a key. Those that send nothing are cut so soon that on a busy machine there are never too many of them at once.
 */
const IDLE = 2_100;
const PER_ADDRESS = 900;
const STRANGERS = 40;
/** Linux lets a client have any address of the network 127. */
const FROM = { keys: '127.0.0.2', idle: '127.0.0.3', strangers: '127.0.0.4' };
/** After which a connection that was cut or refused is made again. */
const AGAIN_MS = 5_000;
/** After which who does not read comes again: long after it is cut, which it does not see. */
const BLIND_MS = 120_000;

test(`a process of 512 MiB survives ${MINUTES} minutes of ${LISTS} unread lists of one key, ${UPLOADS} stalled uploads of another, ${IDLE} idle connections and ${STRANGERS} strangers, and other keys do not feel it`, {
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
    // As the image starts it, and with what Node gives itself where the container has 512 MiB.
    env: {
      LOG_LEVEL: 'warn',
      NODE_OPTIONS: [...flagsOfImage(), '--max-old-space-size=256'].join(' '),
      MAX_CONNECTIONS_PER_ADDRESS: String(PER_ADDRESS),
    },
  });
  atEnd(() => api.stop());

  for (let n = 0; n < 100; n++) {
    await api.client.httpResponseBackends.create({ body: '\u0001'.repeat(65_536) });
  }
  const newKey = async (name: string) => {
    const { id: owner } = await api.client.botUsers.create({ name });
    return (await api.client.apiKeys.create({ owner_id: owner })).token ?? '';
  };
  const other = createClient({ baseUrl: api.url, apiKey: await newKey('who reads'), retries: 0, timeoutMs: 30_000 });
  atEnd(() => other.destroy());
  const { id } = await other.ipPolicies.create({ description: 'read by others' });

  const list = requestOf('GET /backends/http_response?limit=100', `authorization: Bearer ${KEY}`);
  // Of another owner, too: whichever came first would leave no room to those of the same.
  const upload = uploadOf(`authorization: Bearer ${await newKey('who does not send')}`);
  const crowd = new Crowd(new URL(api.url));
  try {
    // Several lists on one connection, since the kernel takes the first megabytes of what nobody reads.
    const lists = { name: 'lists', from: FROM.keys, bytes: Buffer.from(list.repeat(8)), blindMs: BLIND_MS };
    for (let n = 0; n < LISTS; n++) crowd.join(lists);
    for (let n = 0; n < UPLOADS; n++) crowd.join({ name: 'uploads', from: FROM.keys, bytes: upload });
    for (let n = 0; n < IDLE; n++) {
      crowd.join({ name: 'idle', from: FROM.idle, ...(n % 2 ? { bytes: Buffer.from('G') } : {}) });
    }
    const asked = requestOf('GET /ip_policies').repeat(7) + requestOf('GET /ip_policies', 'connection: close');
    const strangers = [Buffer.from(asked), uploadOf('x-key: none')];
    for (let n = 0; n < STRANGERS; n++) {
      for (const bytes of strangers) crowd.join({ name: 'strangers', from: FROM.strangers, bytes });
    }

    const latencies: number[] = [];
    const failures: unknown[] = [];
    const end = performance.now() + MINUTES * 60_000;
    const watched = watch(api.url, end);
    while (performance.now() < end) {
      const before = performance.now();
      await other.ipPolicies.get(id).catch((error: unknown) => failures.push(error));
      latencies.push(performance.now() - before);
      await new Promise((wake) => setTimeout(wake, 50));
    }
    const seen = await watched;
    const peak = await peakResidentBytes(api.pid);
    const sorted = latencies.toSorted((a, b) => a - b);
    const at = (share: number) => Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 10) / 10;
    const figures = { gets: latencies.length, failures: failures.length, p50: at(0.5), p99: at(0.99), max: at(0.9999) };
    const { joined, counts } = crowd;
    const attack = { joined, ...Object.fromEntries([...counts].sort()), ...seen };
    await annotate(JSON.stringify({ ...figures, peakMiB: Math.round(peak / MIB), ...attack }));
    expect(failures).toEqual([]);
    expect(api.kills).toBe(0);
    expect(peak).toBeLessThan(512 * MIB);
    expect(latencies.length).toBeGreaterThan(0);
    expect(at(0.5)).toBeLessThan(100);

    // It was an attack: both keys had all that they may hold, what did not read or send was cut, the rest was refused.
    expect(seen.bytesInFlight).toBeGreaterThan(2 * (BYTES_IN_FLIGHT.perKey - MAX_PAGE_BYTES));
    expect(seen.connections).toBeGreaterThanOrEqual(PER_ADDRESS);
    expect(seen.connectionsRefused).toBeGreaterThan(0);
    // Refused for lack of room, and for a body that never came; strangers for lack of a key, and for their number.
    for (const what of [
      'uploads 429',
      'uploads 503',
      'strangers 401',
      'strangers 429',
      'idle closed',
      'lists closed',
    ]) {
      expect(counts.get(what), what).toBeGreaterThan(0);
    }
  } finally {
    crowd.leave();
  }
});

function flagsOfImage(): string[] {
  const [, words = ''] = /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  const [, ...flags] = z.array(z.string()).parse(JSON.parse(words));
  return flags.slice(0, -1);
}

const requestOf = (line: string, ...headers: string[]) =>
  [`${line} HTTP/1.1`, 'host: a', ...headers, '', ''].join('\r\n');

/** All of an upload but its last byte. */
const uploadOf = (...headers: string[]) => {
  const type = ['content-type: application/json', `content-length: ${MIB}`];
  return Buffer.concat([Buffer.from(requestOf('POST /ip_policies', ...headers, ...type)), Buffer.alloc(MIB - 1, 'x')]);
};

/** The highest that the metrics showed until `end`. */
async function watch(url: string, end: number) {
  const most = new Map<string, number>();
  while (performance.now() < end) {
    const text = await (await fetch(`${url}/metrics`)).text();
    for (const [, name = '', value] of text.matchAll(/^(http_\w+) (\d+)$/gm)) {
      most.set(name, Math.max(most.get(name) ?? 0, Number(value)));
    }
    await new Promise((wake) => setTimeout(wake, 1_000));
  }
  return {
    bytesInFlight: most.get('http_in_flight_bytes'),
    connections: most.get('http_connections'),
    connectionsRefused: most.get('http_connections_refused_total'),
  };
}

interface Attack {
  readonly name: string;
  /** Address of the client. */
  readonly from: string;
  /** What it sends; nothing if there is none. */
  readonly bytes?: Buffer;
  /** Does not read for so long; reads if there is none. */
  readonly blindMs?: number;
}

/** Clients that send what they are told and come again. */
class Crowd {
  /** How many connections there have been. */
  joined = 0;
  /** Of each attack, how many answers had which status, and how many connections have ended. */
  readonly counts = new Map<string, number>();
  readonly #to: URL;
  readonly #sockets = new Set<Socket>();
  #left = false;

  constructor(to: URL) {
    this.#to = to;
  }

  join(attack: Attack): void {
    if (this.#left) return;
    this.joined++;
    const { name, from, bytes, blindMs } = attack;
    const to = { port: Number(this.#to.port), host: this.#to.hostname, localAddress: from };
    const socket = connect(to, () => {
      if (blindMs === undefined) socket.on('data', (chunk) => this.#countAnswers(name, chunk));
      else setTimeout(() => socket.destroy(), blindMs).unref();
      if (bytes) socket.write(bytes);
    });
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      if (!this.#left) this.#count(`${name} closed`);
      setTimeout(() => this.join(attack), AGAIN_MS).unref();
    });
  }

  leave(): void {
    this.#left = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #countAnswers(name: string, chunk: Buffer): void {
    for (const [, status] of chunk.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g))
      this.#count(`${name} ${status}`);
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}
