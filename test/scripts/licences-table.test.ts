import { expect, test } from 'vitest';
import { licencesTable } from '../../scripts/licences-table.ts';

const lock = (license?: string, more: object = {}) => ({
  packages: { '': {}, 'node_modules/a/node_modules/@b/c': { version: '1.0.0', license, ...more } },
});

test('a shipped package is listed by its licence', () => {
  expect(licencesTable(lock('MIT'))).toContain('| MIT | 1 | @b/c |');
});

test.each([undefined, 'GPL-3.0-only', 'SEE LICENSE IN file'])(
  'the licence %s is refused, with the name of the package',
  (licence) => {
    expect(() => licencesTable(lock(licence))).toThrow('@b/c@1.0.0');
  },
);

test.each(['dev', 'devOptional'])('a package that is only for development (%s) is not listed', (why) => {
  expect(licencesTable(lock('GPL-3.0-only', { [why]: true }))).not.toContain('@b/c');
});
