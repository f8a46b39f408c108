import { describe, expect, test } from 'vitest';
import { type Condition, mergeConditions, sameStatus } from '../../../src/operator/kube/conditions.ts';

const EARLIER = '2026-11-21T10:00:00Z';
const NOW = new Date('2026-11-21T11:00:00.123Z');
const NOW_TEXT = '2026-11-21T11:00:00Z';

const ready = (fields: Partial<Condition> = {}): Condition => ({
  type: 'Ready',
  status: 'True',
  reason: 'Available',
  message: 'fine',
  observedGeneration: 1,
  lastTransitionTime: EARLIER,
  ...fields,
});
const finding = { status: 'True', reason: 'Available', message: 'fine' } as const;

describe('mergeConditions', () => {
  test.each([
    ['adds a new condition with the time', [], { Ready: finding }, [ready({ lastTransitionTime: NOW_TEXT })]],
    [
      'updates only the generation when nothing else changed',
      [ready({ observedGeneration: 0 })],
      { Ready: finding },
      [ready()],
    ],
    [
      'keeps the time when only the reason changes',
      [ready()],
      { Ready: { ...finding, reason: 'Other', message: 'else' } },
      [ready({ reason: 'Other', message: 'else' })],
    ],
    [
      'sets the time when the status changes',
      [ready()],
      { Ready: { ...finding, status: 'False' as const } },
      [ready({ status: 'False', lastTransitionTime: NOW_TEXT })],
    ],
    [
      'leaves other conditions alone, and in their order',
      [ready({ type: 'Theirs' }), ready()],
      { Synced: finding },
      [ready({ type: 'Theirs' }), ready(), ready({ type: 'Synced', lastTransitionTime: NOW_TEXT })],
    ],
    [
      'removes a condition whose finding is undefined',
      [ready(), ready({ type: 'Other' })],
      { Ready: undefined },
      [ready({ type: 'Other' })],
    ],
  ])('%s', (_, current, findings, expected) => {
    expect(mergeConditions(current, findings, 1, NOW)).toEqual(expected);
  });

  test('clips a message to the length that the API server accepts', () => {
    const [merged] = mergeConditions([], { Ready: { ...finding, message: 'x'.repeat(40_000) } }, 1, NOW);
    expect(merged?.message).toHaveLength(32_768);
    expect(merged?.message.endsWith('…')).toBe(true);
    const whole = 'x'.repeat(32_768);
    expect(mergeConditions([], { Ready: { ...finding, message: whole } }, 1, NOW)[0]?.message).toBe(whole);
  });
});

test.each([
  ['equal', { a: 1, b: [ready()] }, { b: [ready()], a: 1 }, true],
  ['equal except for undefined members', { a: 1 }, { a: 1, b: undefined }, true],
  ['different because one is missing', undefined, { a: 1 }, false],
  ['different in a value', { a: 1 }, { a: 2 }, false],
  ['different in the order of a list', { a: [1, 2] }, { a: [2, 1] }, false],
])('sameStatus compares two statuses that are %s', (_, a, b, same) => {
  expect(sameStatus(a, b)).toBe(same);
});
