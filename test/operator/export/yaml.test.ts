/** Texts of every kind, as YAML that all readers understand alike. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { yamlOf } from '../../../src/operator/export/yaml.ts';

const object = (spec: Record<string, unknown>, remarks: readonly string[] = []) => ({
  manifest: { apiVersion: 'v1', kind: 'X', metadata: { name: 'x' }, spec },
  remarks,
});
const yamlWith = (...texts: string[]) => yamlOf({ objects: [object({ texts })], refused: [] });

/** Characters that have a meaning in YAML, or on which its versions disagree. */
const character = fc.constantFrom(
  ...' \t\n\r\u0085\u00a0\u2028\u2029\ufeff\ufffe\u0001\u007f\u200b-#:"\'|>&*!%@~<=1e.yx',
);
const text = fc.oneof(fc.string({ unit: character }), fc.string({ unit: 'binary' }));

describe('exported YAML', () => {
  test('has no character that a reader refuses or takes for the end of a line', () => {
    fc.assert(fc.property(text, (each) => !/(?![\n ])[\p{C}\p{Z}]/u.test(yamlWith(each))));
  });

  test.each(['1.1', '1.2'] as const)('gives the same text to a reader of YAML %s', (version) => {
    fc.assert(
      fc.property(text, (each) => {
        const [document] = parseAllDocuments(yamlWith(each), { version });
        expect(document).toMatchObject({ errors: [] });
        expect(document?.toJS()).toMatchObject({ spec: { texts: [each] } });
      }),
    );
  });

  // go-yaml 2, which kubectl uses, reads these as numbers or booleans, and PyYAML reads `=` as a value of its own.
  test.each(['0X1F', '0O17', '0_x1F', '1e1_0', '012', '=', 'Off'])('quotes the text %s', (each) => {
    expect(yamlWith(each)).toContain(`- "${each}"`);
  });

  test('keeps text of several lines readable', () => {
    expect(yamlWith('-----BEGIN\nabc\n', 'Büro: 日本')).toContain(
      '- |\n      -----BEGIN\n      abc\n    - "Büro: 日本"',
    );
  });

  test.each([
    ['\u0001', '\\u0001'],
    ['\u00a0', '\\u00a0'],
    ['\uffff', '\\uffff'],
    ['\u{e0001}', '\\U000e0001'],
  ])('escapes an invisible character by its number: %j', (each, number) => {
    expect(yamlWith(each)).toContain(`- "${number}"`);
  });
});

describe('a remark', () => {
  test('stands before the object, in lines of at most 100 characters', () => {
    const [a, b, c, d, e, f] = [48, 49, 50, 47, 1, 97].map((length) => 'x'.repeat(length));
    const yaml = yamlOf({ objects: [object({}, [`${a} ${b} ${c} ${d} ${e} ${f}`, 'And more.'])], refused: [] });
    const comments = [`# ${a} ${b}`, `# ${c} ${d}`, `# ${e}`, `# ${f}`, '# And more.'];
    expect(yaml.split('\n').slice(0, 7)).toEqual(['---', ...comments, 'apiVersion: v1']);
  });

  test('comes first if it is about a kind that is left out', () => {
    const refused = [{ kind: 'BotUser', reason: 'only admins may list them' }];
    expect(yamlOf({ objects: [object({})], refused })).toMatch(
      /^# BotUser is left out: only admins may list them\n---\napiVersion/,
    );
  });
});
