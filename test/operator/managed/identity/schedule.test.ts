import { expect, test } from 'vitest';
import { earliest, plannedWork } from '../../../../src/operator/managed/identity/schedule.ts';
import { object } from '../../objects.ts';

const [T1, T2, T3] = ['2026-11-21T10:00:00.000Z', '2026-11-21T11:00:00.000Z', '2026-11-21T12:00:00.000Z'] as const;
const retiring = (...times: string[]) =>
  JSON.stringify(times.map((after, index) => ({ id: `r${index}`, generation: index, after })));

test.each([
  ['for no time if there is nothing to do', object(), undefined],
  ['for the renewal', object({ status: { renewsAt: T3 } }), T3],
  ['for the first revocation', object({ status: { rotatesAt: T2 } }, { retiring: retiring(T3, T1, T2) }), T1],
  ['for the rotation before a revocation', object({ status: { rotatesAt: T1 } }, { retiring: retiring(T2) }), T1],
])('work is planned %s', (_, of, expected) => {
  expect(plannedWork(of)?.toISOString()).toBe(expected);
});

test('the earlier of two times is the only one if the other is missing', () => {
  const [a, b] = [new Date(T1), new Date(T2)];
  expect([earliest(a, b), earliest(b, a), earliest(undefined, b), earliest(a, undefined)]).toEqual([a, a, b, a]);
  expect(earliest(undefined, undefined)).toBeUndefined();
});
