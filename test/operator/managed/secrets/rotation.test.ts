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
  ['without a rotation', {}, undefined, 600_000],
  ['with a long interval', { rotation: { interval: '24h' } }, later(24 * HOUR), 600_000],
  ['with a short interval', { rotation: { interval: '1m' } }, later(60_000), 30_000],
  ['with an overlap only', { rotation: { overlap: '2h' } }, undefined, 2 * HOUR],
  ['without an overlap', { rotation: { overlap: '0s' } }, undefined, 0],
])('time and overlap of a rotation follow from the spec: %s', (_, spec, time, overlap) => {
  expect([rotationTime(spec, ISSUED), overlapOf(spec)]).toEqual([time, overlap]);
});

describe('a rotation', () => {
  const hourly = { rotation: { interval: '1h', overlap: '5m' } };
  const asked = (annotations: Parameters<typeof object>[1], spec: Parameters<typeof decideRotation>[1], now: Date) =>
    decideRotation(object({}, annotations), spec, { what: 'token', at: ISSUED }, now);

  const handled = { rotateRequestedAt: 'x', rotateHandledAt: 'x' };
  const [requested, aged] = [
    { cause: 'requested', overlapMs: 600_000 },
    { cause: 'interval', overlapMs: 300_000 },
  ];
  test.each<[string, Parameters<typeof object>[1], object, Date, object]>([
    ['is not planned without an interval', {}, {}, later(HOUR), {}],
    ['is planned for the end of the interval', {}, hourly, later(HOUR - 1), { at: later(HOUR) }],
    ['is due at the end of the interval', {}, hourly, later(HOUR), { due: aged }],
    ['is due on request', { rotateRequestedAt: 'x' }, {}, later(0), { due: requested }],
    ['is due on another request', { ...handled, rotateRequestedAt: 'y' }, {}, later(0), { due: requested }],
    ['is not due on a handled request', handled, {}, later(0), {}],
    ['is not due on an empty request', { rotateRequestedAt: '' }, {}, later(0), {}],
    ['is due by age after a handled request', handled, hourly, later(HOUR), { due: aged }],
  ])('%s', (_, annotations, spec, now, expected) => {
    const decided = asked(annotations, spec, now);
    expect(decided).toMatchObject(expected);
    expect(Object.keys(decided)).toEqual(Object.keys(expected));
    if (decided.due) expect(decided.due.message).toContain(`for another ${decided.due.overlapMs / 1000} s`);
  });
});

test.each([
  ['the one in the status', { lastHandledRotateAt: 'x' }, { rotateRequestedAt: 'y' }, 'x'],
  ['none if no request was ever handled', {}, { rotateRequestedAt: 'y' }, undefined],
  ['none if the annotation was not lost', { lastHandledRotateAt: 'x' }, { rotateHandledAt: 'y' }, undefined],
])('the handled request that a recovery restores is %s', (_, status, annotations, expected) => {
  const restored = rotationRestored(object({ status }, annotations));
  expect(restored).toEqual(expected === undefined ? {} : { [ANNOTATION.rotateHandledAt]: expected });
});

test.each([
  ['begun when the status has another request', { rotateHandledAt: 'y' }, { lastHandledRotateAt: 'x' }, true],
  ['begun when it is the first', { rotateHandledAt: 'x' }, {}, true],
  ['done when the status has it as well', { rotateHandledAt: 'x' }, { lastHandledRotateAt: 'x' }, false],
  ['neither when none was ever requested', {}, {}, false],
])('a requested rotation is %s', (_, annotations, status, expected) => {
  expect(isRotationBegun(object({ status }, annotations))).toBe(expected);
});
