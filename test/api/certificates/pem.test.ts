import { describe, expect, test } from 'vitest';
import { isPrivateKey, readPem } from '../../../src/api/certificates/pem.ts';

const begin = (label = 'X') => `-----BEGIN ${label}-----`;
const end = (label = 'X') => `-----END ${label}-----`;
const block = (content: string, label = 'X') => `${begin(label)}\n${content}\n${end(label)}\n`;
const BOTH = { explained: true };

/** Labels and contents of what was read. */
function blocks(text: string, rules?: { explained: boolean }): string[][] | string {
  const read = readPem(text, rules);
  return 'reason' in read ? read.reason : read.value.map(({ label, der }) => [label, der.toString()]);
}

describe('PEM', () => {
  test.each([
    ['one block', block('YWJj'), [['X', 'abc']]],
    ['one without a line end behind it', block('YWJj').trimEnd(), [['X', 'abc']]],
    [
      'two blocks, space around them',
      `\n ${'\n'}${block('YQ==')}\r\n\n${block('YWI=', 'RSA KEY')}\t\n`,
      [
        ['X', 'a'],
        ['RSA KEY', 'ab'],
      ],
    ],
    ['lines of any length', block('YW\nJj\nYQ=='), [['X', 'abca']]],
    ['space at the ends of lines', block('YWJj').replaceAll('\n', ' \t\r\n'), [['X', 'abc']]],
    ['a label of 40 characters', block('YQ==', 'A1 '.repeat(13).concat('B')), [['A1 '.repeat(13).concat('B'), 'a']]],
  ])('is read: %s', (_, text, expected) => {
    expect(blocks(text)).toEqual(expected);
    expect(blocks(text, BOTH)).toEqual(expected);
  });

  const explanation = 'Subject: CN=a\n  04:d2\n';
  test('may be explained before each block, where the reader allows it', () => {
    const text = `${explanation}${block('YQ==')}${explanation}${block('Yg==')}`;
    expect(blocks(text, BOTH)).toEqual([
      ['X', 'a'],
      ['X', 'b'],
    ]);
    expect(blocks(text)).toMatch(/^is not PEM/);
    expect(blocks(block('YQ==') + explanation)).toBe('has text outside its PEM blocks');
    expect(blocks(block('YQ==') + explanation, BOTH)).toBe('has text outside its PEM blocks');
    expect(blocks(explanation, BOTH)).toMatch(/^is not PEM/);
  });

  test.each([
    ['nothing', '', 'is empty'],
    ['white space', ' \r\n\t', 'is empty'],
    ['text', 'YWJj', /^is not PEM/],
    ['a label of 41 characters', block('YQ==', 'A'.repeat(41)), /^is not PEM/],
    ['no end', `${begin()}\nYQ==\n`, `is truncated: it lacks "${end()}"`],
    ['the end of another', `${begin()}\nYQ==\n${end('Y')}`, `is truncated: it lacks "${end()}"`],
    ['an encrypted key', block('Proc-Type: 4,ENCRYPTED\nDEK-Info: x\n\nYQ=='), 'is encrypted with a passphrase'],
    ['an empty block', `${begin()}\n${end()}`, 'has a block (X) that is not base64'],
    ['a block of space', block(' '), 'has a block (X) that is not base64'],
    ['other characters', block('YQ=!'), 'has a block (X) that is not base64'],
    ['a second block of other characters', block('YQ==') + block('YQ', 'Y'), 'has a block (Y) that is not base64'],
    ['a blank line in base64', block('YWJj\n \r\nYQ=='), 'has a block (X) with a blank line in it'],
    ['a blank line before base64', block('\nYQ=='), 'has a block (X) with a blank line in it'],
    ['text behind its beginning', `${begin()}YWJj\n${end()}`, /on its own line/],
    ['text before its end', `${begin()}\nYWJj${end()}`, /on its own line/],
    ['space before its beginning', ` ${block('YQ==')}`, /on its own line/],
    ['space before its end', `${begin()}\nYWJj\n ${end()}`, /on its own line/],
    ['text behind its end', `${block('YQ==').trimEnd()}x`, /on its own line/],
    ['another block behind its end', block('YQ==').trimEnd() + block('YQ=='), /on its own line/],
  ])('is refused: %s', (_, text, reason) => {
    for (const rules of [undefined, BOTH]) expect(blocks(text, rules)).toMatch(reason);
  });

  test.each([
    ['dashes that are not at the start of a line', `a ${block('YQ==')}`],
    ['a line with dashes that is no beginning', `-----a\n${block('YQ==')}`],
  ])('is refused, explained or not: %s', (_, text) => {
    for (const rules of [undefined, BOTH]) expect(blocks(text, rules)).toMatch(/^is not PEM/);
  });
});

test.each([
  ['PRIVATE KEY', true],
  ['EC PRIVATE KEY', true],
  ['PUBLIC KEY', false],
  ['CERTIFICATE', false],
])('a %s is a private key: %s', (label, expected) => {
  expect(isPrivateKey({ label, der: Buffer.alloc(0) })).toBe(expected);
});
