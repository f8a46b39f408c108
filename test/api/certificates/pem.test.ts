import { describe, expect, test } from 'vitest';
import { isPrivateKey, readPem } from '../../../src/api/certificates/pem.ts';

const begin = (label = 'X') => `-----BEGIN ${label}-----`;
const end = (label = 'X') => `-----END ${label}-----`;
const block = (content: string, label = 'X') => `${begin(label)}\n${content}\n${end(label)}\n`;
const BOTH = { explained: true };

/** The label and content of each block, or the reason for the refusal. */
function blocks(text: string, rules?: { explained: boolean }): string[][] | string {
  const read = readPem(text, rules);
  return 'reason' in read ? read.reason : read.value.map(({ label, der }) => [label, der.toString()]);
}

describe('PEM', () => {
  test.each([
    ['one block', block('YWJj'), [['X', 'abc']]],
    ['one block without a final line end', block('YWJj').trimEnd(), [['X', 'abc']]],
    [
      'two blocks with space around them',
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
  test('may have explanatory text before each block if the reader allows it', () => {
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
    ['no END line', `${begin()}\nYQ==\n`, `is truncated: it lacks "${end()}"`],
    ['the END line of another label', `${begin()}\nYQ==\n${end('Y')}`, `is truncated: it lacks "${end()}"`],
    ['an encrypted key', block('Proc-Type: 4,ENCRYPTED\nDEK-Info: x\n\nYQ=='), 'is encrypted with a passphrase'],
    ['an empty block', `${begin()}\n${end()}`, 'has a block (X) that is not base64'],
    ['a block of space', block(' '), 'has a block (X) that is not base64'],
    ['characters outside base64', block('YQ=!'), 'has a block (X) that is not base64'],
    ['a second block without padding', block('YQ==') + block('YQ', 'Y'), 'has a block (Y) that is not base64'],
    ['a blank line in base64', block('YWJj\n \r\nYQ=='), 'has a block (X) with a blank line in it'],
    ['a blank line before base64', block('\nYQ=='), 'has a block (X) with a blank line in it'],
    ['text after BEGIN on its line', `${begin()}YWJj\n${end()}`, /on its own line/],
    ['text before END on its line', `${begin()}\nYWJj${end()}`, /on its own line/],
    ['space before BEGIN', ` ${block('YQ==')}`, /on its own line/],
    ['space before END', `${begin()}\nYWJj\n ${end()}`, /on its own line/],
    ['text after END on its line', `${block('YQ==').trimEnd()}x`, /on its own line/],
    ['another block on the line of END', block('YQ==').trimEnd() + block('YQ=='), /on its own line/],
  ])('is refused: %s', (_, text, reason) => {
    for (const rules of [undefined, BOTH]) expect(blocks(text, rules)).toMatch(reason);
  });

  test.each([
    ['dashes that are not at the start of a line', `a ${block('YQ==')}`],
    ['a line with dashes that is not a BEGIN line', `-----a\n${block('YQ==')}`],
  ])('is refused whether or not the reader allows explanatory text: %s', (_, text) => {
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
