import { expect, test } from 'vitest';
import { hostportsGivenUp } from '../../../src/operator/kinds/hostports.ts';

test.each([
  [['a.example.com:443', 'b.example.com:443'], ['a.example.com:443'], { hostports: ['a.example.com:443'] }],
  [['a.example.com:443'], ['a.example.com:443', 'b.example.com:443'], undefined],
  [['a.example.com:443'], undefined, { hostports: [] }],
  [[], undefined, undefined],
])('an edge with %j of which the spec asks for %j gives up all others: %j', (current, hostports, update) => {
  expect(hostportsGivenUp({ hostports }, { hostports: current })).toEqual(update);
});
