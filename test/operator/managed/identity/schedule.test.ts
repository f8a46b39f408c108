import { expect, test } from 'vitest';
import { earliest, plannedWork } from '../../../../src/operator/managed/identity/schedule.ts';
import { object } from '../../objects.ts';

const [T1, T2, T3] = ['2026-11-21T10:00:00.000Z', '2026-11-21T11:00:00.000Z', '2026-11-21T12:00:00.000Z'] as const;
const retiring = (...times: string[]) =>
  JSON.stringify(times.map((after, index) => ({ id: `r${index}`, generation: index, after })));

test.each([
  ['for no time', object(), undefined],
  ['for the rotation', object({ status: { rotatesAt: T2 } }), T2],
  ['for the renewal', object({ status: { renewsAt: T3 } }), T3],
  ['for the first revocation', object({}, { retiring: retiring(T3, T1, T2) }), T1],
  ['for a revocation before the rotation', object({ status: { rotatesAt: T2 } }, { retiring: retiring(T1) }), T1],
  ['for the rotation before a revocation', object({ status: { rotatesAt: T1 } }, { retiring: retiring(T2) }), T1],
])('work is planned %s', (_, of, expected) => {
  expect(plannedWork(of)?.toISOString()).toBe(expected);
});

const [a, b] = [new Date(T1), new Date(T2)];
test.each([
  ['either', a, b, a],
  ['either, the other way round', b, a, a],
  ['the only one', undefined, b, b],
  ['the only one, the other way round', a, undefined, a],
  ['neither', undefined, undefined, undefined],
])('the earliest of two times is %s', (_, first, second, expected) => {
  expect(earliest(first, second)).toBe(expected);
});
