/** What kubectl reads as a number: its parser is go-yaml 2. */
import { describe, expect, test } from 'vitest';
import { yamlNumber } from '../../../src/operator/contract/yaml-number.ts';

describe('a plain scalar', () => {
  test.each([
    ['0', 0],
    ['42', 42],
    ['-42', -42],
    ['+42', 42],
    ['1_000', 1000],
    ['0x1F', 31],
    ['-0b101', -5],
    ['0o17', 15],
    ['017', 15],
    ['-017', -15],
    ['1.5', 1.5],
    ['.5', 0.5],
    ['-1.5e3', -1500],
    ['019', 19],
  ])('%s is a number', (text, number) => {
    expect(yamlNumber(text)).toBe(number);
  });

  test.each(['', 'a1', '1a', '-', '+_', '._5', '1.2.3', '0x', '10.0.0.0/8', '2026-11-21'])('%j is a text', (text) => {
    expect(yamlNumber(text)).toBeUndefined();
  });
});
