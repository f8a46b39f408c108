import { expect, test } from 'vitest';
import { supersededBy } from '../../../src/operator/managed/attachment.ts';
import type { Retiring } from '../../../src/operator/managed/identity.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const now = (id: string): Retiring => ({ id, generation: 0, after: NOW.toISOString() });
const before = (id: string): Retiring => ({ id, generation: 0, after: '2026-11-21T10:00:00Z' });

test.each<[string, string | undefined, Retiring[], Retiring[]]>([
  ['nothing when there was no owner', undefined, [], []],
  ['nothing when the owner is the same', 'new', [], []],
  ['the owner before', 'old', [], [now('old')]],
  ['those that still wait, too', 'old', [before('older')], [before('older'), now('old')]],
  ['each once', 'old', [before('old')], [now('old')]],
  ['not the owner itself, when the object goes back to it', 'old', [before('new')], [now('old')]],
])('a new owner supersedes %s', (_, externalId, retiring, expected) => {
  const recorded = { externalId, generation: 0, createKey: undefined, retiring };
  expect(supersededBy('new', recorded, NOW)).toEqual(expected);
});
