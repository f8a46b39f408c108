import { describe, expect, test } from 'vitest';
import { KubeUnreachableError } from '../../../src/operator/kube/kube-error.ts';
import { linesOf, readWatchEvent } from '../../../src/operator/kube/watch-stream.ts';

describe('the lines of a body', () => {
  test.each([
    ['are none if it is empty', [], []],
    ['come whole', ['a\nb\n'], ['a', 'b']],
    ['are put together from chunks', ['a', 'b\nc', 'd\n'], ['ab', 'cd']],
    ['need no newline at the end', ['a\nb'], ['a', 'b']],
  ])('%s', async (_, chunks, expected) => {
    const body = async function* () {
      for (const chunk of chunks) yield Buffer.from(chunk);
    };
    expect(await Array.fromAsync(linesOf(body()))).toEqual(expected);
  });

  test('keep characters whole when chunks split them', async () => {
    const bytes = Buffer.from('ä€\n');
    const body = async function* () {
      for (const byte of bytes) yield Uint8Array.of(byte);
    };
    expect(await Array.fromAsync(linesOf(body()))).toEqual(['ä€']);
  });
});

describe('a watch event', () => {
  test('of type BOOKMARK has a version', () => {
    const line = JSON.stringify({ type: 'BOOKMARK', object: { kind: 'IPPolicy', metadata: { resourceVersion: '7' } } });
    expect(readWatchEvent(line)).toEqual({ type: 'BOOKMARK', resourceVersion: '7' });
  });

  test.each(['{"type":"ADD', '', 'null', '[]'])('%j is rejected', (line) => {
    expect(() => readWatchEvent(line)).toThrow(KubeUnreachableError);
  });
});
