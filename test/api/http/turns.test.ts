import { expect, test } from 'vitest';
import { createTurns } from '../../../src/api/http/turns.ts';

const settled = () => new Promise((turn) => setImmediate(turn));

test('turns are taken in order, so many at once of each name', async () => {
  const turns = createTurns(2);
  const log: string[] = [];
  const ends = new Map<string, () => void>();
  const take = (name: string, who: string) =>
    void turns.take(name).then((end) => {
      log.push(who);
      ends.set(who, end);
    });
  for (const who of ['a1', 'a2', 'a3', 'a4']) take('a', who);
  take('b', 'b1');
  await settled();
  expect(log).toEqual(['a1', 'a2', 'b1']);
  ends.get('b1')?.();
  ends.get('a2')?.();
  await settled();
  expect(log).toEqual(['a1', 'a2', 'b1', 'a3']);
  ends.get('a1')?.();
  ends.get('a3')?.();
  ends.get('a4')?.();
  await settled();
  expect(log).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
  ends.get('a4')?.();
  // As if it had never been used.
  for (const who of ['a5', 'a6', 'a7']) take('a', who);
  await settled();
  expect(log.slice(5)).toEqual(['a5', 'a6']);
});

test('the end of one does not make room for two', async () => {
  const turns = createTurns(2);
  const [first] = await Promise.all(['one', 'two'].map(() => turns.take('a')));
  first?.();
  await turns.take('a');
  let isTaken = false;
  void turns.take('a').then(() => {
    isTaken = true;
  });
  await settled();
  expect(isTaken).toBe(false);
});

test('between those who waited, others get the event loop', async () => {
  const turns = createTurns(1);
  const log: string[] = [];
  const end = await turns.take('a');
  for (const who of ['a1', 'a2', 'a3'])
    void turns.take('a').then((endOfTurn) => {
      log.push(who);
      endOfTurn();
    });
  end();
  for (let n = 0; n < 3; n++) {
    await settled();
    log.push('others');
  }
  expect(log).toEqual(['a1', 'others', 'a2', 'others', 'a3', 'others']);
});

test('a thousand wait in a line, and whoever comes then is refused', async () => {
  const turns = createTurns(1);
  const end = await turns.take('a');
  const waiting = Array.from({ length: 1000 }, () => turns.take('a'));
  await expect(turns.take('a')).rejects.toMatchObject({ code: 'RATE_LIMITED', headers: { 'retry-after': '1' } });
  await turns.take('b');
  end();
  for (const turn of waiting) (await turn)();
  await turns.take('a');
});
