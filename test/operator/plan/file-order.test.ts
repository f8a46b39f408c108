import { expect, test } from 'vitest';
import { FileOrder } from '../../../src/operator/plan/file-order.ts';

test('a turn comes when all earlier ones of its kind have ended, in whatever order they end', async () => {
  const order = new FileOrder();
  const [first, second, third, other] = ['A', 'A', 'A', 'B'].map((kind) => order.enter(kind));
  const come: string[] = [];
  for (const [name, turn] of Object.entries({ first, second, third, other })) {
    void turn?.comes.then(() => come.push(name));
  }
  second?.end();
  await other?.comes;
  await new Promise(setImmediate);
  expect(come).toEqual(['first', 'other']);
  first?.end();
  await third?.comes;
  expect(come).toEqual(['first', 'other', 'second', 'third']);
});
