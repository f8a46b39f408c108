import { describe, expect, test } from 'vitest';
import { handedOver, holding, mayTake, readLease } from '../../../src/operator/kube/lease.ts';
import { object } from '../objects.ts';

const us = { identity: 'us', leaseMs: 15_000 };

test.each([
  ['that we hold', { holderIdentity: 'us', leaseDurationSeconds: 15 }, 0, true],
  ['that nobody holds', {}, 0, true],
  ['that was handed over', handedOver({ holderIdentity: 'them', leaseDurationSeconds: 15 }), 0, true],
  ['that others renewed recently', { holderIdentity: 'them', leaseDurationSeconds: 15 }, 14_999, false],
  ['that others did not renew in time', { holderIdentity: 'them', leaseDurationSeconds: 15 }, 15_000, true],
  ['whose own, longer duration has not passed', { holderIdentity: 'them', leaseDurationSeconds: 60 }, 15_000, false],
  ['without a duration, before ours has passed', { holderIdentity: 'them' }, 14_999, false],
  ['without a duration, once ours has passed', { holderIdentity: 'them' }, 15_000, true],
])('whether we may take a lease %s', (_, lease, unchangedMs, expected) => {
  expect(mayTake(lease, us, unchangedMs)).toBe(expected);
});

describe('a lease that we hold', () => {
  const at = new Date('2026-11-21T10:00:00.123Z');
  const now = '2026-11-21T10:00:00.123000Z';

  test.each([
    ['was never held', undefined, { acquireTime: now, leaseTransitions: 0 }],
    [
      'was held by others',
      { holderIdentity: 'them', acquireTime: 'before', leaseTransitions: 4 },
      { acquireTime: now, leaseTransitions: 5 },
    ],
    [
      'was ours',
      { holderIdentity: 'us', acquireTime: 'before', leaseTransitions: 4 },
      { acquireTime: 'before', leaseTransitions: 4 },
    ],
    ['was ours without an acquire time', { holderIdentity: 'us' }, { acquireTime: now, leaseTransitions: 0 }],
  ])('has the right acquire time and transitions if it %s', (_, previous, expected) => {
    expect(holding(previous, 'us', 14_500, at)).toEqual({
      holderIdentity: 'us',
      leaseDurationSeconds: 15,
      renewTime: now,
      ...expected,
    });
  });
});

test('a lease without a spec has no holder', () => {
  expect(readLease(object())).toEqual({});
});
