import { afterAll, describe, expect, test } from 'vitest';
import { noUnbound, startUnbound } from '../../dev/acme/unbound.ts';
import { startDnsServer } from '../../src/dns/server.ts';
import { skipFor } from '../skip.ts';
import { fromTestZone, testZone } from './zone.ts';

const server = await startDnsServer({ answer: fromTestZone, host: '127.0.0.1', port: 0 });
afterAll(() => server.stop());

describe('a resolver that checks letters and asks for each label', skipFor(noUnbound), async () => {
  if (noUnbound !== undefined) return;
  const { resolver, stop } = await startUnbound([{ apex: testZone.apex, port: server.port }]);
  afterAll(stop);

  test.each([
    ['one', ['a']],
    ['two', ['a', 'b']],
  ])('gets the texts of %s', async (label, texts) => {
    const found = await resolver.resolveTxt(`${label}.${testZone.apex}`);
    expect(found.flat().toSorted()).toEqual(texts);
  });

  test('gets texts that are too long for UDP', async () => {
    expect(await resolver.resolveTxt(`many.${testZone.apex}`)).toHaveLength(40);
  });

  test.each([
    ['one', 'CAA'],
    ['one', 'A'],
    ['none', 'TXT'],
    ['one', 'MX'],
  ])('learns that %s has no %s', async (label, type) => {
    await expect(resolver.resolve(`${label}.${testZone.apex}`, type)).rejects.toMatchObject({ code: 'ENODATA' });
  });

  test('learns that another name does not exist', async () => {
    await expect(resolver.resolveCaa(`other.${testZone.apex}`)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  test('gets the records of the zone', async () => {
    expect((await resolver.resolveNs(testZone.apex)).toSorted()).toEqual(testZone.nameServers);
    expect(await resolver.resolveSoa(testZone.apex)).toMatchObject({ nsname: 'ns1.example.com' });
  });

  test('learns that the server has failed', async () => {
    await expect(resolver.resolveTxt(`broken.${testZone.apex}`)).rejects.toMatchObject({ code: 'ESERVFAIL' });
  });
});
