/** What `plan` reads in a file is what `kubectl apply` reads in it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readManifests } from '../../../src/operator/plan/manifest-files.ts';
import { CannotStart } from '../../../src/settings/cannot-start.ts';

const folder = await mkdtemp(join(tmpdir(), 'manifests-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

async function read(content: string) {
  const file = join(folder, 'manifest.yaml');
  await writeFile(file, content);
  return (await readManifests([file])).map(({ document }) => document);
}

const START = 'apiVersion: v1\nkind: X\nmetadata: {name: x}\n';

describe('manifest files', () => {
  // As `kubectl create --dry-run=client -o json` prints them.
  test.each([
    ['no', false],
    ['yes', true],
    ['"no"', 'no'],
    ['0777', 511],
    ['1_000', 1000],
    ['2030-01-01', '2030-01-01'],
    ['2030-01-01T00:00:00Z', '2030-01-01T00:00:00Z'],
    ['12:30', '12:30'],
    ['1:30:15.5', '1:30:15.5'],
    ['1e3', 1000],
    ['~', null],
    ['0X1F', 31],
    ['-0x_1f', -31],
    ['+0o7', 7],
    ['0O17', 15],
    ['0B101', 5],
    ['08', 8],
    ['+_1', 1],
    ['1e1_0', 1e10],
    ['1.5', 1.5],
    ['-.5', -0.5],
    ['.5', 0.5],
    ['.5_0', 0.5],
    ['._5', '._5'],
    ['-._5', -0.5],
    ['10.0.0.1', '10.0.0.1'],
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['1f', '1f'],
    ['0x', '0x'],
  ])('read %s as kubectl does', async (written, value) => {
    expect(await read(`${START}spec: {it: ${written}}\n`)).toMatchObject([{ spec: { it: value } }]);
  });

  test('may merge maps', async () => {
    const content = `${START}spec:\n  one: &one {a: 1, b: 2}\n  other:\n    <<: *one\n    b: 3\n`;
    expect(await read(content)).toMatchObject([{ spec: { other: { a: 1, b: 3 } } }]);
  });

  test.each([
    ['an alias of nothing', '*nowhere', 'nowhere'],
    ['a merge of no map', '{<<: 3}', 'Merge sources'],
    [
      'aliases without end',
      '[&a [x], &b [*a, *a, *a, *a, *a, *a], &c [*b, *b, *b, *b, *b, *b], *c, *c]',
      'alias count',
    ],
  ])('are refused for %s, in one line that names the document', async (_, written, reason) => {
    const message = expect.stringMatching(new RegExp(`^\\S+manifest.yaml, document 2: .*${reason}.*$`));
    await expect(read(`${START}---\n${START}spec: {it: ${written}}\n`)).rejects.toMatchObject({ message });
    await expect(read(`${START}---\n${START}spec: {it: ${written}}\n`)).rejects.toBeInstanceOf(CannotStart);
  });

  test('are refused without a name of a field where there is none', async () => {
    await expect(read('just text')).rejects.toThrow(/no Kubernetes object: Invalid input/);
  });
});
