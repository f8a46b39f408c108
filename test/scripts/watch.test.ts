import { expect, test } from 'vitest';
import { concerned } from '../../scripts/watch.ts';

test.each([
  [['api/app.ts'], { api: true, operator: false }],
  [['api/store/migrations/0001_init.sql'], { api: true, operator: false }],
  [['operator/kinds/kinds.ts'], { api: false, operator: true }],
  [['client/client.ts'], { api: false, operator: true }],
  [['resources/ip-policy.ts'], { api: true, operator: true }],
  [['main.ts'], { api: true, operator: true }],
  [['api/app.ts', 'operator/operator.ts'], { api: true, operator: true }],
])('a change of %j restarts %j', (files, expected) => {
  expect(concerned(files)).toEqual(expected);
});
