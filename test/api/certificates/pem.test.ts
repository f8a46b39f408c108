import { describe, expect, test } from 'vitest';
import { isPrivateKey, readPem } from '../../../src/api/certificates/pem.ts';

const begin = (label = 'X') => `-----BEGIN ${label}-----`;
const end = (label = 'X') => `-----END ${label}-----`;
const block = (content: string, label = 'X') => `${begin(label)}\n${content}\n${end(label)}\n`;

/** The label and content of each block, or the reason for the refusal. */
function blocks(text: string): string[][] | string {
  const read = readPem(text);
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
  });

  const attributes = 'Bag Attributes\r\n    localKeyID: 1B DA\r\nKey Attributes: <No Attributes>\r\n';
  test.each([
    ['what openssl writes before it', attributes],
    ['comments and blank lines', '# of www\n\n\n'],
    ['a comment with dashes', '----- the key -----\n'],
    ['a byte order mark before other text', '\uFEFF# of www\n'],
  ])('is read with %s', (_, before) => {
    const both = [
      ['X', 'a'],
      ['X', 'b'],
    ];
    expect(blocks(`${before}${block('YQ==')}${before}${block('Yg==')}`)).toEqual(both);
    expect(blocks(before)).toMatch(/^is not PEM/);
  });

  test.each([
    ['nothing', '', 'is empty'],
    ['white space', ' \r\n\t', 'is empty'],
    ['text', 'YWJj', /^is not PEM/],
    ['a label of 41 characters', block('YQ==', 'A'.repeat(41)), /^has a -----BEGIN line that does not name its block/],
    ['no END line', `${begin()}\nYQ==\n`, `is truncated: it lacks "${end()}"`],
    ['the END line of another label', `${begin()}\nYQ==\n${end('Y')}`, `is truncated: it lacks "${end()}"`],
    ['an encrypted key', block('Proc-Type: 4,ENCRYPTED\nDEK-Info: x\n\nYQ=='), 'is encrypted with a passphrase'],
    ['an empty block', `${begin()}\n${end()}`, 'has a block (X) that is not base64'],
    ['a block of space', block(' '), 'has a block (X) that is not base64'],
    ['characters outside base64', block('YQ=!'), 'has a block (X) that is not base64'],
    ['a second block without padding', block('YQ==') + block('YQ', 'Y'), 'has a block (Y) that is not base64'],
    ['a blank line in base64', block('YWJj\n \r\nYQ=='), 'has a block (X) with a blank line in it'],
    ['a blank line before base64', block('\nYQ=='), 'has a block (X) with a blank line in it'],
    ['a byte order mark before BEGIN', `\uFEFF${block('YQ==')}`, /^has a byte order mark/],
    ['a byte order mark before another BEGIN', `${block('YQ==')}\uFEFF${block('YQ==')}`, /^has a byte order mark/],
    ['text before BEGIN on its line', `a ${block('YQ==')}`, /on its own line/],
    ['text after the last block', `${block('YQ==')}text`, 'has text after its last PEM block'],
    ['a BEGIN line that was lost', `YQ==\n${end()}\n${block('YQ==')}`, /^has an "-----END …-----" without/],
    ['a second BEGIN line that was lost', `${block('YQ==')}YQ==\n${end()}\n`, /^has an "-----END …-----" without/],
    ['text after BEGIN on its line', `${begin()}YWJj\n${end()}`, /on its own line/],
    ['text before END on its line', `${begin()}\nYWJj${end()}`, /on its own line/],
    ['space before BEGIN', ` ${block('YQ==')}`, /on its own line/],
    ['space before END', `${begin()}\nYWJj\n ${end()}`, /on its own line/],
    ['text after END on its line', `${block('YQ==').trimEnd()}x`, /on its own line/],
    ['another block on the line of END', block('YQ==').trimEnd() + block('YQ=='), /on its own line/],
  ])('is refused: %s', (_, text, reason) => {
    expect(blocks(text)).toMatch(reason);
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
