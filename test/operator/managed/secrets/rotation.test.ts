import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import {
  decideRotation,
  isRotationBegun,
  overlapOf,
  rotationRestored,
  rotationTime,
} from '../../../../src/operator/managed/secrets/rotation.ts';
import { object } from '../../objects.ts';

const ISSUED = '2026-11-21T10:00:00.000Z';
const HOUR = 3_600_000;
const later = (ms: number) => new Date(Date.parse(ISSUED) + ms);

test.each([
  ['without a rotation', {}, undefined],
  ['without an interval', { rotation: { overlap: '1h' } }, undefined],
  ['with an interval', { rotation: { interval: '1h' } }, later(HOUR)],
])('the time of a rotation %s', (_, spec, expected) => {
  expect(rotationTime(spec, ISSUED)).toEqual(expected);
});

test.each([
  ['ten minutes by default', {}, 600_000],
  ['ten minutes with a long interval', { rotation: { interval: '24h' } }, 600_000],
  ['half of a short interval', { rotation: { interval: '1m' } }, 30_000],
  ['what is declared', { rotation: { interval: '24h', overlap: '2h' } }, 2 * HOUR],
  ['nothing, when that is declared', { rotation: { overlap: '0s' } }, 0],
])('the overlap is %s', (_, spec, expected) => {
  expect(overlapOf(spec)).toBe(expected);
});

describe('a rotation', () => {
  const hourly = { rotation: { interval: '1h', overlap: '5m' } };
  const asked = (annotations: Parameters<typeof object>[1], spec: Parameters<typeof decideRotation>[1], now: Date) =>
    decideRotation(object({}, annotations), spec, { what: 'token', at: ISSUED, seenAt: undefined }, now);

  test.each([
    ['is neither due nor planned without interval and request', {}, {}, later(HOUR), {}],
    ['is planned for when the interval ends', {}, hourly, later(HOUR - 1), { at: later(HOUR) }],
    ['is due when the interval has ended', {}, hourly, later(HOUR), { due: { cause: 'interval', overlapMs: 300_000 } }],
    [
      'is due on request',
      { rotateRequestedAt: 'x' },
      {},
      later(0),
      { due: { cause: 'requested', overlapMs: 600_000 } },
    ],
    [
      'is due on another request',
      { rotateRequestedAt: 'y', rotateHandledAt: 'x' },
      {},
      later(0),
      { due: { cause: 'requested' } },
    ],
    ['is not due on a request that was handled', { rotateRequestedAt: 'x', rotateHandledAt: 'x' }, {}, later(0), {}],
    ['is not due on an empty request', { rotateRequestedAt: '' }, {}, later(0), {}],
    [
      'is due by age also after a request that was handled',
      { rotateRequestedAt: 'x', rotateHandledAt: 'x' },
      hourly,
      later(HOUR),
      { due: { cause: 'interval' } },
    ],
  ])('%s', (_, annotations, spec, now, expected) => {
    const decided = asked(annotations, spec, now);
    expect(decided).toMatchObject(expected);
    expect(Object.keys(decided)).toEqual(Object.keys(expected));
  });

  test.each([
    ['by request', { rotateRequestedAt: 'x' }, later(0)],
    ['by age', {}, later(HOUR)],
  ])('%s tells how long the old token keeps working', (_, annotations, now) => {
    expect(asked(annotations, hourly, now).due?.message).toContain('keeps working for another 300 s');
  });

  test.each([
    ['ahead', 24 * HOUR],
    ['right', 0],
    ['behind', -24 * HOUR],
  ])('is due at the age that the API sees, where the clock of the operator is %s', (_, wrong) => {
    const seen = (age: number) =>
      decideRotation(object(), hourly, { what: 'token', at: ISSUED, seenAt: later(age) }, later(age + wrong));
    expect(seen(0)).toEqual({ at: later(wrong + HOUR) });
    expect(seen(HOUR - 1)).toEqual({ at: later(wrong + HOUR) });
    expect(seen(HOUR)).toMatchObject({ due: { cause: 'interval' } });
    // The header is cut to the second: it may seem to be seen before it was issued.
    expect(seen(-999)).toEqual({ at: later(wrong + HOUR) });
  });
});

test.each([
  ['what the status has kept', { lastHandledRotateAt: 'x' }, { rotateRequestedAt: 'y' }, 'x'],
  ['nothing, if no request was ever handled', {}, { rotateRequestedAt: 'y' }, undefined],
  ['nothing, if it was not lost', { lastHandledRotateAt: 'x' }, { rotateHandledAt: 'y' }, undefined],
])('of the request that was handled, a recovery restores %s', (_, status, annotations, expected) => {
  const restored = rotationRestored(object({ status }, annotations));
  expect(restored).toEqual(expected === undefined ? {} : { [ANNOTATION.rotateHandledAt]: expected });
});

test.each([
  ['begun when the status has another request', { rotateHandledAt: 'y' }, { lastHandledRotateAt: 'x' }, true],
  ['begun when it is the first', { rotateHandledAt: 'x' }, {}, true],
  ['done when the status has it, too', { rotateHandledAt: 'x' }, { lastHandledRotateAt: 'x' }, false],
  ['neither when none was ever requested', {}, {}, false],
])('a requested rotation is %s', (_, annotations, status, expected) => {
  expect(isRotationBegun(object({ status }, annotations))).toBe(expected);
});
