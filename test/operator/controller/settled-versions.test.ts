import { expect, test } from 'vitest';
import { SettledVersions } from '../../../src/operator/controller/settled-versions.ts';
import { object } from '../objects.ts';

test.each([
  ['nothing before the first reconcile', undefined, 5, false],
  ['the version that was settled', 5, 5, true],
  ['an older version, which a lagging watch reports', 5, 4, true],
  ['no newer version', 5, 6, false],
  ['versions as numbers', 10, 9, true],
])('settled versions cover %s', (_, settled, seen, expected) => {
  const versions = new SettledVersions();
  if (settled !== undefined) versions.set(object({ version: settled }));
  expect(versions.covers(object({ version: seen }))).toBe(expected);
  expect(versions.covers(object({ name: 'other', version: seen }))).toBe(false);
  versions.delete('ns/a');
  expect(versions.covers(object({ version: seen }))).toBe(false);
});
