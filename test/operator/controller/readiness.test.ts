import { expect, test } from 'vitest';
import { type CacheState, readiness } from '../../../src/operator/controller/readiness.ts';
import type { Obstacle } from '../../../src/operator/kube/obstacle.ts';

const missing: Obstacle = { kind: 'missing', message: 'install it' };
const forbidden: Obstacle = { kind: 'forbidden', message: 'grant it' };
const states = (...of: (number | undefined | Obstacle)[]): CacheState[] =>
  of.map((value, index) => {
    const obstacle = typeof value === 'object' ? value : undefined;
    return { name: `k${index}`, staleness: typeof value === 'object' ? undefined : value, obstacle };
  });

test.each<[string, CacheState[], string[], string[]]>([
  ['nothing, if all caches were heard from recently', states(0, 60_000), [], []],
  ['a cache that is not filled', states(0, undefined), ['k1: not listed yet'], []],
  [
    'a cache that was not heard from for longer than two deadlines',
    states(60_001, 0),
    ['k0: the watch has been silent for 60 s'],
    [],
  ],
  ['a missing permission', states(forbidden, 0), ['k0: grant it'], []],
  ['not the CustomResourceDefinition of one kind, which is a detail', states(missing, 0), [], ['k0: install it']],
  ['the CustomResourceDefinitions of all kinds', states(missing, missing), ['k0: install it', 'k1: install it'], []],
])('what keeps a process unready: %s', (_, kinds, problems, details) => {
  expect(readiness(kinds, [], 30_000)).toEqual({ problems, details });
});

test('a missing permission keeps a process unready, even if its last message is recent', () => {
  const [kind] = states(0);
  const lately = [{ ...(kind as CacheState), obstacle: forbidden }];
  expect(readiness(lately, [], 30_000).problems).toEqual(['k0: grant it']);
});

test('a cache of a resource that is not a kind must be filled', () => {
  expect(readiness(states(0), states(missing), 30_000).problems).toEqual(['k0: install it']);
});
