import { expect, test } from 'vitest';
import { listenAddress } from '../../src/settings/listen-address.ts';

const lo = { lo: [{ family: 'IPv4' }] } as const;
const eth0 = { eth0: [{ family: 'IPv6' }] } as const;

test.each<[string, Parameters<typeof listenAddress>[1], string]>([
  ['::', { ...lo, ...eth0 }, '::'],
  ['::', { ...eth0 }, '::'],
  ['::', { ...lo }, '0.0.0.0'],
  ['127.0.0.1', { ...lo, ...eth0 }, '127.0.0.1'],
  ['::1', { ...lo }, '::1'],
])('%s on a machine with %j means %s', (host, interfaces, expected) => {
  expect(listenAddress(host, interfaces)).toBe(expected);
});
