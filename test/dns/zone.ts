/** A zone with every kind of name. */
import type { Answer } from '../../src/dns/respond.ts';
import { answerFrom, type Zone } from '../../src/dns/zone.ts';

const TEXTS: Readonly<Record<string, readonly string[]>> = {
  'one.acme.example.com': ['a'],
  'two.acme.example.com': ['a', 'b'],
  // The challenge is over.
  'none.acme.example.com': [],
  'many.acme.example.com': Array.from({ length: 40 }, (_, index) => 'x'.repeat(43) + index),
};

export const testZone: Zone = {
  apex: 'acme.example.com',
  nameServers: ['ns1.example.com', 'ns2.example.com'],
  async texts(name) {
    if (name.startsWith('broken.')) throw new Error('no database');
    return TEXTS[name];
  },
};

export const fromTestZone: Answer = (question) => answerFrom(testZone, question);
