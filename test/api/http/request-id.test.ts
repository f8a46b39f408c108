import { expect, test } from 'vitest';
import { requestId } from '../../../src/api/http/request-id.ts';

test.each(['a', 'Ab9._:/+=-', 'x'.repeat(128)])('a request keeps the id that its caller gave it: %s', (id) => {
  expect(requestId(id)).toBe(id);
});

test.each([
  ['none', undefined],
  ['an empty one', ''],
  ['one that could break a line of the log', 'a\nb'],
  ['one in quotes', '"a"'],
  ['one that is too long', 'x'.repeat(129)],
  ['several', ['a', 'b']],
])('a request that came with %s gets a new id each time', (_, header) => {
  expect(requestId(header)).toMatch(/^[0-9a-f-]{36}$/);
  expect(requestId(header)).not.toBe(requestId(header));
});
