import { getEventListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { deferredAbort } from '../../../src/operator/kube/deferred-abort.ts';

const REASON = new Error('why');

test('the deferred signal is aborted one turn later, for the same reason', async () => {
  const given = new AbortController();
  const { signal } = deferredAbort(given.signal);
  await nextTurn();
  expect(signal.aborted).toBe(false);
  given.abort(REASON);
  await Promise.resolve();
  expect(signal.aborted).toBe(false);
  await nextTurn();
  expect(signal.reason).toBe(REASON);
});

test('once ended, the deferred signal has no listener and is no longer aborted', async () => {
  const given = new AbortController();
  const { signal, end } = deferredAbort(given.signal);
  expect(getEventListeners(given.signal, 'abort')).toHaveLength(1);
  end();
  expect(getEventListeners(given.signal, 'abort')).toEqual([]);
  given.abort();
  await nextTurn();
  expect(signal.aborted).toBe(false);
});

test('a signal that is already aborted throws its reason', () => {
  expect(() => deferredAbort(AbortSignal.abort(REASON))).toThrow(REASON);
});
