import { buildConnector } from 'undici';
import { describe, expect, test } from 'vitest';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import type { HostAddress } from '../../src/outbound/host-lookup.ts';
import { courier, destination, EVENT, never, tcpReceiver } from '../api/events/wire/receiver.ts';

const settings = { networks: 'ALLOWED_NETWORKS', httpHosts: 'HTTP_HOSTS' };
const PUBLIC = '93.184.215.14';
const addresses = (...all: string[]): HostAddress[] =>
  all.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

/** What the tests' DNS says. */
const HOSTS: Readonly<Record<string, HostAddress[]>> = {
  localhost: addresses('127.0.0.1'),
  'inside.example.com': addresses('127.0.0.1'),
  'mapped.example.com': addresses('::ffff:127.0.0.1'),
  'both.example.com': addresses(PUBLIC, '127.0.0.1'),
  'metadata.example.com': addresses('169.254.169.254'),
  'zone.example.com': addresses('fe80::1%eth0'),
};

describe('no connection is made', () => {
  test.each([
    ...['127.0.0.1', '127.1', '127.0.0.1.', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '127.255.255.254'],
    ...['0.0.0.0', '0', '%31%32%37.0.0.1', '①②⑦.⓪.⓪.①', 'user:password@127.0.0.1', '[::1]', '[::]'],
    ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[::ffff:0:127.0.0.1]'],
    ...['[64:ff9b::127.0.0.1]', '[64:ff9b:1::127.0.0.1]', '[2002:7f00:1::]', '[2001:0:7f00:1::]'],
    ...['10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '192.0.2.1', '198.18.0.1', '224.0.0.1', '240.0.0.1'],
    ...['255.255.255.255', '[fc00::1]', '[fe80::1]', '[fec0::1]', '[ff02::1]', '[2001:db8::1]', '[4000::1]'],
    ...['169.254.169.254', '100.100.100.200', '168.63.129.16', '[fd00:ec2::254]'],
    ...Object.keys(HOSTS),
  ])('to %s', async (host) => {
    const { port, connections } = await tcpReceiver((socket) => void socket.end(), '0.0.0.0');
    const url = `http://${host}:${port}/`;
    const { hostname } = new URL(url);
    const resolve = async (name: string) => HOSTS[name] ?? [];
    const sender = courier({ allowNetworks: [], httpHosts: [hostname], resolve, timeoutMs: 5_000 });
    const answer = await sender.deliver(destination({ webhook: { url } }), EVENT, never);
    expect(answer).toEqual({
      delivered: false,
      error: expect.stringMatching(/is not a public address|must have a public address|belongs to the machine/),
    });
    expect(connections).toEqual([]);
  });

  test('to what a name means since it was first looked up', async () => {
    const { port, connections } = await tcpReceiver((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n'));
    }, '0.0.0.0');
    const answers = [addresses('127.0.0.1'), addresses('127.0.0.2')];
    const resolve = async () => answers.shift() ?? [];
    const sender = courier({ httpHosts: ['rebinding.example.com'], resolve });
    const target = destination({ webhook: { url: `http://rebinding.example.com:${port}/` } });
    expect(await sender.deliver(target, EVENT, never)).toEqual({ delivered: true, status: 204 });
    expect(await sender.deliver(target, EVENT, never)).toMatchObject({
      error: expect.stringMatching(/^127\.0\.0\.2 /),
    });
    expect(connections).toHaveLength(1);
  });

  test('that is used, if it leads elsewhere than to the address looked up', async () => {
    const { port, connections } = await tcpReceiver(() => undefined);
    const elsewhere: typeof buildConnector = (options) =>
      buildConnector({ ...options, lookup: (_, __, done) => done(null, addresses('127.0.0.1')) });
    const connect = createAddressGuard({ networks: [], httpHosts: [], settings }, elsewhere).connector({
      resolve: async () => [],
      timeoutMs: 5_000,
    });
    const { promise, resolve } = Promise.withResolvers<unknown[]>();
    connect({ hostname: 'example.com', protocol: 'http:', port: String(port) }, (...given) => resolve(given));
    expect(await promise).toEqual([expect.objectContaining({ name: 'ForbiddenAddress' }), null]);
    await expect.poll(() => connections.map(({ bytesRead, closed }) => [bytesRead, closed])).toEqual([[0, true]]);
  });
});

describe('an address', () => {
  const isRefused = (address: string, ...allowed: string[]) =>
    createAddressGuard({ networks: allowed, httpHosts: [], settings }).refusalOf(address) !== undefined;

  test.each([PUBLIC, '2606:2800:21f:cb07::1', `::ffff:${PUBLIC}`, `64:ff9b::${PUBLIC}`])('%s is public', (address) => {
    expect(isRefused(address)).toBe(false);
  });

  test.each([
    ['10.1.2.3', '10.0.0.0/8'],
    ['::ffff:10.1.2.3', '10.0.0.0/8'],
    ['fd12::1', 'fd12::/64'],
    ['::1', '::1'],
  ])('%s is allowed by %s, and alone by that', (address, network) => {
    expect(isRefused(address, network)).toBe(false);
    expect(isRefused(address, '192.168.0.0/16', 'fd13::/64')).toBe(true);
  });

  test.each([
    ...['169.254.169.254', '169.254.170.2', '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', '100.100.100.200'],
    ...['192.0.0.192', '168.63.129.16', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', 'fe80::a9fe:a9fe%eth0'],
  ])('%s cannot be allowed', (address) => {
    expect(isRefused(address, '0.0.0.0/0', '::/0', '169.254.169.254', 'fd00:ec2::254')).toBe(true);
  });
});
