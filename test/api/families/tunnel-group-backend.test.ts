import { expect, test } from 'vitest';
import { tunnelGroupBackend } from '../../../src/resources/tunnel-group-backend.ts';

const { labels } = tunnelGroupBackend.create.shape;

test.each([
  ['app', { app: '*' }],
  ['app', { app: '' }],
  ['app', { app: 'x'.repeat(256) }],
  ['', { '': 'x' }],
  ['*', { '*': 'x' }],
  ['k'.repeat(256), { ['k'.repeat(256)]: 'x' }],
])('the label "%s" is refused by name', (name, given) => {
  expect(labels.safeParse(given).error?.issues).toMatchObject([{ path: [name] }]);
});

test('a label may have 255 characters', () => {
  const given = { ['k'.repeat(255)]: 'v'.repeat(255) };
  expect(labels.parse(given)).toEqual(given);
});
