import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { type DatabaseOptions, openDatabase } from '../../../src/api/store/database.ts';
import { transientCondition } from '../../../src/api/store/database-errors.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { Servers } from '../../../src/api/store/servers.ts';
import { createTestDatabase } from '../../harness.ts';
import { breakableWayTo } from '../breakable-way.ts';
import { WireProxy } from '../faults/wire-proxy.ts';
import { atEnd, emptyDatabase } from '../harness.ts';

/** Nobody listens there. */
const NOWHERE = '127.0.0.1:1';

/** The same database, at these addresses. */
function at(url: string, hosts: readonly string[], parameters = ''): string {
  const { host } = new URL(url);
  return `${url.replace(host, hosts.join(','))}${parameters}`;
}

const hostOf = (url: string) => new URL(url).host;

/** Takes connections, and says nothing but what `greet` says. */
async function silent(greet: (socket: Socket) => void = () => undefined): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    greet(socket);
  }).listen(0, '127.0.0.1');
  atEnd(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  const address = server.address();
  return `127.0.0.1:${typeof address === 'object' && address?.port}`;
}

function opened(url: string, options: Partial<DatabaseOptions> = {}) {
  const moves: string[] = [];
  const db = openDatabase({
    url,
    poolSize: 2,
    statementTimeoutMs: 60_000,
    connectTimeoutMs: 60_000,
    onMove: (now, before) => void moves.push(`${before.name} > ${now.name}`),
    ...options,
  });
  atEnd(() => db.close());
  const run = (text: string) => db.query({ text, values: [] });
  return { db, moves, run, isServed: () => expect(run('select 1 as one')).resolves.toEqual([{ one: 1 }]) };
}

async function proxyOf(url: string): Promise<WireProxy> {
  const proxy = await WireProxy.start(url);
  atEnd(() => proxy.close());
  return proxy;
}

/** New sessions of the database are as on a server that takes no writes. */
async function setReadOnly(url: string, on: boolean): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  const name = client.escapeIdentifier(new URL(url).pathname.slice(1));
  await client.query('begin read write');
  await client.query(`alter database ${name} set default_transaction_read_only = ${on}`);
  await client.query('commit');
  await client.end();
}

const ON_ONE = 'postgres://user@one/database';

test.each([
  ['any', { read_only: true, standby: true }, undefined],
  ['read-write', { read_only: false, standby: false }, undefined],
  ['read-write', { read_only: true, standby: false }, 'it is read-only'],
  ['read-write', { read_only: true, standby: true }, 'it is a standby'],
  ['primary', { read_only: true, standby: false }, undefined],
  ['primary', { read_only: true, standby: true }, 'it is a standby'],
])('where %s is wanted, there is an objection to a server that is %j: %s', (wanted, row, message) => {
  const servers = new Servers(`${ON_ONE}?target_session_attrs=${wanted}`, { connectTimeoutMs: 1 });
  const objection = servers.objection(row);
  expect(objection?.message).toBe(message);
  if (objection) expect(transientCondition(objection)).toBe('read_only_sql_transaction');
});

test.each([
  [ON_ONE, false],
  [`${ON_ONE}?target_session_attrs=primary`, true],
  ['postgres://user@one,two/database?target_session_attrs=any', true],
])('only where there is a choice does a server have to be found, and can it be doubted: %s', (url, hasChoice) => {
  const servers = new Servers(url, { connectTimeoutMs: 1 });
  expect(servers).toMatchObject({ hasChoice, isTrusted: !hasChoice, current: { name: 'one' } });
  servers.doubt();
  expect(servers.isTrusted).toBe(!hasChoice);
});

describe('of several servers', () => {
  test('one that refuses gives way to the next', async () => {
    const url = await emptyDatabase();
    const { moves, isServed } = opened(at(url, [NOWHERE, hostOf(url)]));
    await isServed();
    expect(moves).toEqual([`${NOWHERE} > ${hostOf(url)}`]);
  });

  // With a limit of a minute for a connection, and for this test.
  test('one that hangs does not hold up the next', async () => {
    const url = await emptyDatabase();
    const { isServed } = opened(at(url, [await silent(), hostOf(url)]));
    await isServed();
  });

  test('the first one that will do is used, and kept', async () => {
    const url = await emptyDatabase();
    const proxy = await proxyOf(url);
    const { moves, isServed, run } = opened(at(url, [hostOf(url), hostOf(proxy.url)]));
    await isServed();
    await expect(run('select pg_terminate_backend(pg_backend_pid())')).rejects.toMatchObject({ code: '57P01' });
    await isServed();
    expect(moves).toEqual([]);
  });

  test('another is used when the one in use goes, without one failed statement if nobody used it then', async () => {
    const url = await emptyDatabase();
    const proxy = await proxyOf(url);
    const lost: Error[] = [];
    const { moves, isServed } = opened(at(url, [hostOf(proxy.url), hostOf(url)]), { onError: (e) => lost.push(e) });
    await isServed();
    const gone = hostOf(proxy.url);
    await proxy.close();
    await expect.poll(() => lost.length).toBe(1);
    await isServed();
    expect(moves).toEqual([`${gone} > ${hostOf(url)}`]);
  });

  test('another is used when the one in use takes no more connections', async () => {
    const url = await emptyDatabase();
    // It is there when it is looked for.
    const gone = await breakableWayTo(url, (count) => count > 1);
    const { moves, isServed } = opened(at(url, [hostOf(gone), hostOf(url)]));
    await isServed();
    expect(moves).toEqual([`${hostOf(gone)} > ${hostOf(url)}`]);
  });

  // With a limit of a minute for a connection, and for this test.
  test.each([
    ['while nobody uses it', undefined],
    ['in the middle of a statement', 'select pg_sleep(600)'],
  ])('another is used at once when the one in use is lost %s, and hangs from then on', async (_, text) => {
    const url = await emptyDatabase();
    const { port, hostname } = new URL(url);
    const sockets: Socket[] = [];
    let isLost = false;
    const first = await silent((socket) => {
      if (isLost) return;
      const onward = connect(Number(port), hostname);
      for (const each of [socket, onward]) sockets.push(each.on('error', () => undefined));
      socket.pipe(onward).pipe(socket);
    });
    const lost: Error[] = [];
    const { run, isServed } = opened(at(url, [first, hostOf(url)]), { onError: (error) => lost.push(error) });
    await isServed();
    const underWay = text === undefined ? undefined : run(text).catch((error: Error) => lost.push(error));
    isLost = true;
    for (const socket of sockets) socket.resetAndDestroy();
    await underWay;
    await expect.poll(() => lost.length).toBe(1);
    await isServed();
  });

  test('another is used when the one in use hangs, and who waits there is told', async () => {
    const url = await emptyDatabase();
    const proxy = await proxyOf(url);
    const { moves, db, run, isServed } = opened(at(url, [hostOf(proxy.url), hostOf(url)]), { connectTimeoutMs: 1_000 });
    await Promise.all([isServed(), isServed()]);
    proxy.freeze();
    const stuck = [run('select 1'), db.transaction((tx) => tx.query({ text: 'select 1', values: [] }))];
    const told = Promise.allSettled(stuck);
    // Nobody gets a connection any more, which is the first sign of it.
    await expect(run('select 1')).rejects.toThrow('timeout exceeded when trying to connect');
    await isServed();
    for (const outcome of await told) {
      expect(outcome.status === 'rejected' && transientCondition(outcome.reason)).toBe('connection_lost');
    }
    expect(moves).toHaveLength(1);
    expect(db.usage()).toEqual({ total: 1, idle: 1, waiting: 0 });
  });

  test('none will do: the error has the reason of each, and passes by itself', async () => {
    const url = await emptyDatabase();
    await setReadOnly(url, true);
    const { run, isServed } = opened(at(url, [NOWHERE, hostOf(url)]));
    const refused = await run('select 1').catch((error: unknown) => error);
    expect(String(refused)).toContain(`no server is read-write (${NOWHERE}: connect ECONNREFUSED ${NOWHERE}; `);
    expect(String(refused)).toContain(`${hostOf(url)}: it is read-only)`);
    expect(transientCondition(refused)).toBe('ECONNREFUSED');
    await setReadOnly(url, false);
    await isServed();
  });
});

describe('a single server', () => {
  test.each([
    ['read-write', false],
    ['primary', true],
    ['any', true],
  ])('that takes no writes will do as %s: %s', async (wanted, isFine) => {
    const url = await emptyDatabase();
    await setReadOnly(url, true);
    const { run, isServed } = opened(`${url}?target_session_attrs=${wanted}`);
    if (isFine) return isServed();
    const refused = await run('select 1').catch((error: unknown) => error);
    expect(transientCondition(refused)).toBe('read_only_sql_transaction');
  });

  test('is asked what it is by each new connection', async () => {
    const url = await emptyDatabase();
    const { db, run, isServed } = opened(`${url}?target_session_attrs=read-write`, { poolSize: 2 });
    await isServed();
    await setReadOnly(url, true);
    await db.transaction(async () => {
      const refused = await run('select 1').catch((error: unknown) => error);
      expect(transientCondition(refused)).toBe('read_only_sql_transaction');
    });
  });

  test('that is full is still the right one', async () => {
    const url = await emptyDatabase();
    const limited = new URL(url);
    Object.assign(limited, { username: `limited_${process.pid}`, password: 'x' });
    const admin = new pg.Client(url);
    await admin.connect();
    await admin.query(`create role ${limited.username} login password 'x' connection limit 1`);
    atEnd(async () => {
      await admin.query(`drop role ${limited.username}`);
      await admin.end();
    });
    const { run, db } = opened(at(limited.href, [hostOf(url), NOWHERE]));
    await db.transaction(async (tx) => {
      await expect(run('select 1')).rejects.toMatchObject({ code: '53300' });
      // Not "no server": who has a connection goes on.
      expect(await tx.query({ text: 'select 1 as one', values: [] })).toEqual([{ one: 1 }]);
    });
  });
});

test.each([
  ['any', 'answers'],
  ['primary', 'is primary'],
])('where %s will do and none is there, the error says that no server %s', async (wanted, what) => {
  const url = `postgres://user@${NOWHERE},127.0.0.1:2/database?target_session_attrs=${wanted}`;
  const found = new Servers(url, { connectTimeoutMs: 10_000 }).find();
  await expect(found).rejects.toThrow(`no server ${what} (${NOWHERE}: `);
});

describe('a server that hangs is given up', () => {
  const find = (host: string) =>
    new Servers(`postgres://user@${host}/database?target_session_attrs=read-write`, { connectTimeoutMs: 200 }).find();

  test('before it has let us in', async () => {
    await expect(find(await silent())).rejects.toThrow(/timeout/);
  });

  test('and after that, when it knows who asks', async () => {
    let startup = '';
    // Authentication is complete, and it is ready for a query.
    const welcome = Buffer.from('520000000800000000' + '5a0000000549', 'hex');
    const host = await silent((socket) =>
      socket.once('data', (packet) => {
        startup = packet.toString();
        socket.write(welcome);
      }),
    );
    await expect(find(host)).rejects.toThrow(/timeout/);
    expect(startup).toContain('application_name\0tunnel-operator\0');
  });
});

test('who asks while others do shares their search', async () => {
  const url = await emptyDatabase();
  const servers = new Servers(at(url, [NOWHERE, hostOf(url)]), { connectTimeoutMs: 10_000 });
  const search = servers.find();
  expect(servers.find()).toBe(search);
  await search;
  expect(servers).toMatchObject({ isTrusted: true, current: { name: hostOf(url) } });
  servers.doubt();
  expect(servers.isTrusted).toBe(false);
  expect(servers.find()).not.toBe(search);
  await servers.find();
});

test('migrations find the server that takes writes', async () => {
  const url = await createTestDatabase();
  expect(await migrate(at(url, [NOWHERE, hostOf(url)]))).toContain('0001_owners_and_api_keys.sql');
});
