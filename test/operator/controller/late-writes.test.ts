import { describe, expect, test } from 'vitest';
import { ApiError, ApiUnreachableError } from '../../../src/client/errors.ts';
import { LateWrites } from '../../../src/operator/controller/late-writes.ts';
import { classify } from '../../../src/operator/managed/failure.ts';
import { object } from '../objects.ts';

const NEW = object({ name: 'a' });
const late = classify(new ApiUnreachableError('PATCH /x: no answer in time', { mayTakeEffect: true }));

test.for<[string, unknown]>([
  ['a read', new ApiUnreachableError('GET /x: no answer in time')],
  ['a refusal', new ApiError({ error_code: 'INTERNAL_ERROR', status_code: 500, msg: 'no', details: {} })],
  ['anything else', new Error('no')],
])('an object is left alone after %s that failed', ([, error]) => {
  const writes = new LateWrites();
  writes.failed('a', NEW, classify(error), 0);
  expect(writes.nextLookMs('a', NEW, 0)).toBeUndefined();
});

describe('an object whose write may arrive yet', () => {
  test('is looked at ever more rarely, and no more after some minutes', () => {
    const writes = new LateWrites();
    writes.failed('a', NEW, late, 1_000);
    const looks: number[] = [];
    let now = 1_500;
    for (let next = writes.nextLookMs('a', NEW, now); next !== undefined; next = writes.nextLookMs('a', NEW, now)) {
      looks.push(next);
      now += next;
    }
    expect(looks).toEqual([1_000, 1_500, 3_000, 6_000, 12_000, 24_000, 48_000, 96_000, 192_000]);
  });

  test('is looked at for five minutes', () => {
    const writes = new LateWrites();
    writes.failed('a', NEW, late, 0);
    expect([writes.nextLookMs('a', NEW, 299_999), writes.nextLookMs('a', NEW, 300_000)]).toEqual([299_999, undefined]);
  });

  test('is not forgotten when others fail after it', () => {
    const writes = new LateWrites();
    writes.failed('a', NEW, late, 400_000);
    writes.failed('b', object({ name: 'b' }), late, 401_000);
    expect(writes.nextLookMs('a', NEW, 402_000)).toBe(2_000);
  });

  test('counts from the last one, and not once the object is gone', () => {
    const writes = new LateWrites();
    writes.failed('a', NEW, late, 0);
    writes.failed('a', NEW, late, 100_000);
    expect(writes.nextLookMs('a', NEW, 101_000)).toBe(1_000);
    expect(writes.nextLookMs('b', NEW, 101_000)).toBeUndefined();
    writes.forget('a');
    expect(writes.nextLookMs('a', NEW, 101_000)).toBeUndefined();
  });

  test('hands the wait on with its resource', () => {
    const [first, second] = ['first', 'second'].map((name) => object({ name }, { externalId: 'rt_1' }));
    const writes = new LateWrites();
    writes.failed('first', first ?? NEW, late, 0);
    writes.forget('first');
    expect(writes.nextLookMs('second', second ?? NEW, 2_000)).toBe(2_000);
    expect(writes.nextLookMs('third', object({ name: 'third' }, { externalId: 'rt_2' }), 2_000)).toBeUndefined();
  });
});
