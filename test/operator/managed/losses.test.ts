import { expect, test } from 'vitest';
import { Losses } from '../../../src/operator/managed/losses.ts';

const START = Date.parse('2026-11-21T12:00:00.000Z');
const at = (seconds: number) => new Date(START + seconds * 1000);

test('what is lost for the first time is issued anew at once', () => {
  const losses = new Losses();
  losses.reissued('other', at(0));
  expect(losses.pauseUntil('a', at(0))).toBeUndefined();
});

test('the pause doubles with every loss, up to ten minutes', () => {
  const losses = new Losses();
  const pauses: number[] = [];
  let now = 0;
  for (let times = 0; times < 12; times++) {
    losses.reissued('a', at(now));
    const until = losses.pauseUntil('a', at(now)) ?? at(now);
    pauses.push((until.getTime() - at(now).getTime()) / 1000);
    expect(losses.pauseUntil('a', until)).toBeUndefined();
    now = (until.getTime() - START) / 1000;
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
});

test('a loss long after the last one is the first again', () => {
  const losses = new Losses();
  for (const second of [0, 1, 3]) losses.reissued('a', at(second));
  expect(losses.pauseUntil('a', at(3 + 1200))).toBeUndefined();
  losses.reissued('a', at(3 + 1200));
  expect(losses.pauseUntil('a', at(3 + 1200))).toEqual(at(3 + 1201));
});

test('a loss is forgotten though another object keeps losing', () => {
  const losses = new Losses();
  losses.reissued('again', at(0));
  losses.reissued('once', at(1));
  losses.reissued('again', at(1000));
  expect(losses.pauseUntil('once', at(1201))).toBeUndefined();
  losses.reissued('once', at(1201));
  expect(losses.pauseUntil('once', at(1201))).toEqual(at(1202));
});
