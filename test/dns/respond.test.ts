import { decode } from 'dns-packet';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { respond } from '../../src/dns/respond.ts';
import { query } from './dns-client.ts';
import { fromTestZone } from './zone.ts';

const PACKETS = { numRuns: 4_096 };
const udp = (message: Buffer) => respond(message, { answer: fromTestZone, transport: 'udp', onError: () => undefined });

/** The most that the sender of these bytes can take, whatever they mean. */
const MOST = 1232;

test('random bytes are not answered, or with a response to the same id that is short enough', async () => {
  const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
  const property = fc.asyncProperty(bytes, async (message) => {
    const response = await udp(message);
    if (!response) return;
    expect(response.length).toBeLessThanOrEqual(MOST);
    expect(decode(response)).toMatchObject({ id: message.readUInt16BE(0), type: 'response' });
  });
  await fc.assert(property, PACKETS);
});

test('queries with random changes are not answered, or with a response that is short enough', async () => {
  const valid = fc.constantFrom(query('many.acme.example.com', 'TXT'), query('ONE.acme.example.com', 'CAA'));
  const changes = fc.array(fc.tuple(fc.nat({ max: 63 }), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
  const property = fc.asyncProperty(valid, changes, fc.nat({ max: 80 }), async (message, changed, cut) => {
    const altered = Buffer.from(message.subarray(0, message.length - (cut % 5 === 0 ? cut : 0)));
    for (const [at, byte] of changed) if (at < altered.length) altered[at] = byte;
    const response = await udp(altered);
    if (response) expect(response.length).toBeLessThanOrEqual(MOST);
  });
  await fc.assert(property, PACKETS);
});

test('a name that points at itself is a bad query', async () => {
  const header = Buffer.from('12340100000100000000 0000'.replace(' ', ''), 'hex');
  const response = await udp(Buffer.concat([header, Buffer.from([0xc0, 12, 0, 16, 0, 1])]));
  expect(decode(response ?? Buffer.alloc(0))).toMatchObject({ id: 0x1234, rcode: 'FORMERR' });
});
