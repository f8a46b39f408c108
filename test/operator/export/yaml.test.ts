/** Texts of every sort, as YAML that all its readers take alike. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { yamlOf } from '../../../src/operator/export/yaml.ts';

const yamlWith = (...texts: string[]) =>
  yamlOf({
    objects: [{ manifest: { apiVersion: 'v1', kind: 'X', metadata: { name: 'x' }, spec: { texts } }, remarks: [] }],
    refused: [],
  });

/** Of what YAML gives a meaning to, and what its versions disagree on. */
const character = fc.constantFrom(
  ...' \t\n\r\u0085\u00a0\u2028\u2029\ufeff\ufffe\u0001\u007f\u200b-#:"\'|>&*!%@~<=1e.yx',
);
const text = fc.oneof(fc.string({ unit: character }), fc.string({ unit: 'binary' }));

describe('exported YAML', () => {
  test('has no character that a reader refuses or takes for the end of a line', () => {
    fc.assert(fc.property(text, (each) => !/(?![\n ])[\p{C}\p{Z}]/u.test(yamlWith(each))));
  });

  test.each(['1.1', '1.2'] as const)('holds what it was given, for a reader of YAML %s', (version) => {
    fc.assert(
      fc.property(text, (each) => {
        const [document] = parseAllDocuments(yamlWith(each), { version });
        expect(document).toMatchObject({ errors: [] });
        expect(document?.toJS()).toMatchObject({ spec: { texts: [each] } });
      }),
    );
  });

  // go-yaml 2, which kubectl reads with, takes them for numbers, and PyYAML `=` for a value of its own.
  test.each(['0X1F', '-0X1F', '0B101', '0O17', '-0o7', '0o1_7', '0_x1F', '+_1', '1e1_0', '1.5e3_0', '012', '='])(
    'quotes the text %s',
    (each) => {
      expect(yamlWith(each)).toContain(`- "${each}"`);
    },
  );

  test('keeps text in lines readable', () => {
    expect(yamlWith('-----BEGIN\nabc\n', 'Büro: 日本')).toContain(
      '- |\n      -----BEGIN\n      abc\n    - "Büro: 日本"',
    );
  });
});
