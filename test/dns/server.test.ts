import { once } from 'node:events';
import { connect } from 'node:net';
import { encode } from 'dns-packet';
import { afterAll, describe, expect, test } from 'vitest';
import { startDnsServer } from '../../src/dns/server.ts';
import { ask, query, TRANSPORTS } from './dns-client.ts';
import { fromTestZone } from './zone.ts';

const errors: unknown[] = [];
const common = { answer: fromTestZone, host: '127.0.0.1', port: 0 };
const server = await startDnsServer({ ...common, idleMs: 300, onError: (error) => void errors.push(error) });
afterAll(() => server.stop());

const soa = { name: 'acme.example.com', type: 'SOA' };
const txt = (name: string, ...texts: string[]) =>
  texts.map((text) => ({ name, type: 'TXT', ttl: 1, data: [Buffer.from(text)] }));
const nothing = { answers: [], authorities: [soa] };

/** Name, type, and what comes back. */
const TABLE: [string, string, string, object][] = [
  ['one.acme.example.com', 'TXT', 'NOERROR', { answers: txt('one.acme.example.com', 'a'), authorities: [] }],
  ['two.acme.example.com', 'TXT', 'NOERROR', { answers: txt('two.acme.example.com', 'a', 'b') }],
  ['ONE.aCmE.Example.com', 'TXT', 'NOERROR', { answers: txt('ONE.aCmE.Example.com', 'a') }],
  ['one.acme.example.com', 'A', 'NOERROR', nothing],
  ['one.acme.example.com', 'AAAA', 'NOERROR', nothing],
  ['one.acme.example.com', 'CAA', 'NOERROR', nothing],
  ['one.acme.example.com', 'DS', 'NOERROR', nothing],
  ['one.acme.example.com', 'UNKNOWN_65', 'NOERROR', nothing],
  ['one.acme.example.com', 'ANY', 'NOERROR', { answers: [{ type: 'HINFO', data: { cpu: 'RFC8482' } }] }],
  ['none.acme.example.com', 'TXT', 'NOERROR', nothing],
  ['other.acme.example.com', 'TXT', 'NXDOMAIN', nothing],
  ['other.acme.example.com', 'CAA', 'NXDOMAIN', nothing],
  ['acme.example.com', 'SOA', 'NOERROR', { answers: [{ ...soa, data: { mname: 'ns1.example.com' } }] }],
  ['acme.example.com', 'NS', 'NOERROR', { answers: [{ data: 'ns1.example.com' }, { data: 'ns2.example.com' }] }],
  ['acme.example.com', 'TXT', 'NOERROR', nothing],
  ['acme.example.com', 'AXFR', 'REFUSED', { flag_aa: false, answers: [], authorities: [] }],
  ['example.com', 'SOA', 'REFUSED', { flag_aa: false, answers: [], authorities: [] }],
  ['notacme.example.com', 'TXT', 'REFUSED', { flag_aa: false, answers: [], authorities: [] }],
  ['broken.acme.example.com', 'TXT', 'SERVFAIL', { flag_aa: false, answers: [], authorities: [] }],
];

describe.each(TRANSPORTS)('by %s', (transport) => {
  test.each(TABLE)('%s %s is answered %s', async (name, type, rcode, expected) => {
    const response = await ask(query(name, type), server.port, transport);
    expect(response).toMatchObject({
      ...{ id: 4711, type: 'response', rcode, flag_aa: true, flag_tc: false, flag_rd: true, flag_ra: false },
      ...{ questions: [{ name, type }], additionals: [{ type: 'OPT', udpPayloadSize: 1232 }] },
      ...expected,
    });
  });

  test.each([
    [
      'two questions',
      { questions: [1, 2].map(() => ({ name: 'one.acme.example.com', type: 'TXT' as const })) },
      'FORMERR',
    ],
    ['no question', { questions: [] }, 'FORMERR'],
    ['another class', { questions: [{ name: 'one.acme.example.com', type: 'TXT', class: 'CH' }] }, 'REFUSED'],
    ['another operation', { flags: 4 << 11 }, 'NOTIMP'],
  ] as const)('%s is refused', async (_, packet, rcode) => {
    const message = query('one.acme.example.com', 'TXT', {
      ...packet,
      questions: 'questions' in packet ? [...packet.questions] : undefined,
    });
    expect(await ask(message, server.port, transport)).toMatchObject({ rcode, answers: [] });
  });

  test('a newer version of EDNS is refused with the version that we know', async () => {
    const edns = { name: '.', type: 'OPT', udpPayloadSize: 4096, extendedRcode: 0, ednsVersion: 1 } as const;
    const additionals = [{ ...edns, flags: 0, flag_do: false, options: [] }];
    const response = await ask(query('one.acme.example.com', 'TXT', { additionals }), server.port, transport);
    expect(response).toMatchObject({ answers: [], additionals: [{ extendedRcode: 1, ednsVersion: 0 }] });
  });
});

test('an error of the zone is reported', () => {
  expect(errors).toEqual([new Error('no database'), new Error('no database')]);
});

describe('a response that is too long for UDP', () => {
  test.each([
    ['without EDNS', { additionals: [] }],
    ['with EDNS', {}],
  ])('is truncated, and whole by TCP: %s', async (_, packet) => {
    const message = query('many.acme.example.com', 'TXT', packet);
    expect(await ask(message, server.port, 'udp')).toMatchObject({ flag_tc: true, answers: [] });
    const { answers, flag_tc } = await ask(message, server.port, 'tcp');
    expect({ count: answers?.length, flag_tc }).toEqual({ count: 40, flag_tc: false });
  });
});

/** How many of so many queries on one connection are answered before the server closes it. */
async function answeredOf(count: number, port: number): Promise<number> {
  const message = query('one.acme.example.com', 'TXT');
  const framed = Buffer.concat([Buffer.from([0, message.length]), message]);
  const socket = connect(port, '127.0.0.1');
  socket.write(Buffer.concat(Array.from({ length: count }, () => framed)));
  let received = 0;
  socket.on('data', (chunk) => {
    received += chunk.length;
  });
  await once(socket, 'close');
  const { length } = encode(await ask(message, server.port, 'tcp'));
  return received / (2 + length);
}

test('a TCP connection answers several queries, and is closed when none comes', async () => {
  expect(await answeredOf(2, server.port)).toBe(2);
});

test('more queries from one network than the limit are not answered', async () => {
  const limited = await startDnsServer({ ...common, queriesPerSecond: 3 });
  try {
    // Within one second or two, however the clock stands; the last one is too many in any case.
    const answered = await answeredOf(7, limited.port);
    expect([3, 4, 5, 6]).toContain(answered);
  } finally {
    await limited.stop();
  }
});

test('a stop closes the connections', async () => {
  const stopped = await startDnsServer(common);
  const socket = connect(stopped.port, '127.0.0.1');
  await once(socket, 'connect');
  await Promise.all([once(socket, 'close'), stopped.stop()]);
});

test('beyond the limit, UDP is answered without records, and TCP as before', async () => {
  const limited = await startDnsServer({ ...common, queriesPerSecond: 1 });
  try {
    const message = query('one.acme.example.com', 'TXT');
    // One of them is in the same second as the one before.
    const seen = [];
    for (let n = 0; n < 3; n += 1) seen.push(await ask(message, limited.port, 'udp'));
    const cut = seen.find(({ flag_tc }) => flag_tc);
    expect(cut).toMatchObject({ id: 4711, answers: [], questions: [{ name: 'one.acme.example.com', type: 'TXT' }] });
    expect((await ask(message, limited.port, 'tcp')).answers).toHaveLength(1);
  } finally {
    await limited.stop();
  }
});

test('one network has a share of the connections', async () => {
  const busy = await startDnsServer(common);
  const open = (localAddress: string) => connect({ port: busy.port, host: '127.0.0.1', localAddress });
  const mine = Array.from({ length: 40 }, () => open('127.0.0.1'));
  try {
    await Promise.all(mine.slice(32).map((socket) => once(socket, 'close')));
    expect(mine.filter((socket) => !socket.destroyed)).toHaveLength(32);
    const other = open('127.0.9.1');
    await once(other, 'connect');
    other.write(
      Buffer.concat([
        Buffer.from([0, query('one.acme.example.com', 'TXT').length]),
        query('one.acme.example.com', 'TXT'),
      ]),
    );
    await once(other, 'data');
  } finally {
    await busy.stop();
  }
});
