import { describe, expect, test } from 'vitest';
import { MalformedSsh, mpint, SshReader, string, uint32, uint64 } from '../../../src/resources/formats/ssh-wire.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('the encoding of', () => {
  test.each([
    ['a number', uint32(1), '00000001'],
    ['a long number', uint64(258n), '0000000000000102'],
    ['a text in UTF-8', string('ü'), '00000002 c3bc'],
    ['bytes', string(hex('0001')), '00000002 0001'],
    // The examples of RFC 4251, section 5.
    ['zero', mpint(Buffer.alloc(0)), '00000000'],
    ['zero with zeros', mpint(Buffer.alloc(3)), '00000000'],
    ['a positive integer', mpint(hex('09a378f9b2e332a7')), '00000008 09a378f9b2e332a7'],
    ['an integer with its highest bit set', mpint(hex('80')), '00000002 0080'],
    ['an integer without its highest bit set', mpint(hex('7f')), '00000001 7f'],
    ['an integer with leading zeros', mpint(hex('000080')), '00000002 0080'],
    ['an integer with zeros inside', mpint(hex('010000')), '00000003 010000'],
  ])('%s', (_, written, expected) => {
    expect(written.toString('hex')).toBe(expected.replaceAll(' ', ''));
  });
});

describe('the reader', () => {
  test('returns one value after the other, and then nothing', () => {
    const reader = new SshReader(hex('00000002 6162 00000000 00000001 63'));
    expect([reader.string(), reader.string(), reader.string()].map(String)).toEqual(['ab', '', 'c']);
    reader.end();
  });

  test.each([
    ['nothing', ''],
    ['half a length', '000000'],
    ['a length without its bytes', '00000001'],
    ['one byte too few', '00000003 6162'],
    ['a huge length', 'ffffffff 61'],
  ])('never reads past the end: %s', (_, bytes) => {
    expect(() => new SshReader(hex(bytes)).string()).toThrow(new MalformedSsh('is truncated'));
  });

  test('rejects trailing data', () => {
    const reader = new SshReader(hex('00000000 00'));
    reader.string();
    expect(() => reader.end()).toThrow('has trailing data');
  });

  test.each([
    ['01', '01'],
    ['7fff', '7fff'],
    ['0080', '80'],
    ['00ff00', 'ff00'],
    ['0100', '0100'],
  ])('reads a positive integer: %s', (bytes, expected) => {
    expect(new SshReader(string(hex(bytes))).positive().toString('hex')).toBe(expected);
  });

  test.each([
    ['zero', ''],
    ['zero with a byte', '00'],
    ['a negative integer', '80'],
    ['a negative integer of two bytes', 'ff00'],
    ['an integer with a needless zero', '007f'],
    ['an integer with two zeros', '000080'],
  ])('rejects what is not a positive integer in its shortest form: %s', (_, bytes) => {
    expect(() => new SshReader(string(hex(bytes))).positive()).toThrow('not positive, or not in its shortest form');
  });
});
