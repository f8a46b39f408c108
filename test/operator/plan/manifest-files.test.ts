/** What `plan` reads in a file is what `kubectl apply` reads in it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { readManifests } from '../../../src/operator/plan/manifest-files.ts';

const folder = await mkdtemp(join(tmpdir(), 'manifests-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

const file = join(folder, 'manifest.yaml');

async function manifestsIn(content: string) {
  await writeFile(file, content);
  return readManifests([file]);
}

const read = async (content: string) => (await manifestsIn(content)).map(({ document }) => document);

/** Replaces standard input until the end of the test. */
function giveStandardInput(stdin: Readable) {
  const before = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {};
  Object.defineProperty(process, 'stdin', { value: stdin, configurable: true });
  onTestFinished(() => void Object.defineProperty(process, 'stdin', before));
}

const START = 'apiVersion: v1\nkind: X\nmetadata: {name: x}\n';

describe('manifest files', () => {
  // As `kubectl create --dry-run=client -o json` prints them.
  test.each([
    ['no', false],
    ['yes', true],
    ['0777', 511],
    ['1_000', 1000],
    ['2030-01-01', '2030-01-01'],
    ['!!timestamp 2030-01-01', '2030-01-01'],
    ['12:30', '12:30'],
    ['~', null],
    ['0X1F', 31],
    ['._5', '._5'],
    ['10.0.0.0/8', '10.0.0.0/8'],
  ])('read %s as kubectl does', async (written, value) => {
    expect(await read(`${START}spec: {it: ${written}}\n`)).toMatchObject([{ spec: { it: value } }]);
  });

  test('may merge maps', async () => {
    const content = `${START}spec:\n  one: &one {a: 1, b: 2}\n  other:\n    <<: *one\n    b: 3\n`;
    expect(await read(content)).toMatchObject([{ spec: { other: { a: 1, b: 3 } } }]);
  });

  test.each([
    ['an alias without an anchor', '*nowhere', 'nowhere'],
    ['an alias inside its own anchor', '&a {b: *a}', 'circular'],
    [
      'aliases that expand too far',
      '[&a [x], &b [*a, *a, *a, *a, *a, *a], &c [*b, *b, *b, *b, *b, *b], *c, *c]',
      'alias count',
    ],
  ])('are refused for %s, in one line that names the document', async (_, written, reason) => {
    const message = expect.stringMatching(new RegExp(`^\\S+manifest.yaml, document 2: .*${reason}.*$`));
    const refused = { name: 'CannotStart', message, cause: expect.any(Error) };
    await expect(read(`${START}---\n${START}spec: {it: ${written}}\n`)).rejects.toMatchObject(refused);
  });

  test.each([
    ['apiVersion', '{kind: X, metadata: {name: x}}'],
    ['kind', '{apiVersion: v1, metadata: {name: x}}'],
    ['metadata', '{apiVersion: v1, kind: X}'],
    ['metadata.name', '{apiVersion: v1, kind: X, metadata: {name: ""}}'],
    ['metadata.namespace', '{apiVersion: v1, kind: X, metadata: {name: x, namespace: 1}}'],
    ['metadata.annotations.a', '{apiVersion: v1, kind: X, metadata: {name: x, annotations: {a: 1}}}'],
  ])('are refused if %s is missing or invalid: %s', async (path, content) => {
    await expect(read(content)).rejects.toThrow(`manifest.yaml, document 1 is no Kubernetes object: ${path}: `);
  });

  test('may hold empty documents and Lists, whose items have places of their own', async () => {
    const item = (name: string) => `- {apiVersion: v1, kind: X, metadata: {name: ${name}}}\n`;
    const content = `---\n---\nkind: XList\nitems:\n${item('first')}- null\n${item('third')}`;
    expect((await manifestsIn(content)).map(({ document, place }) => [document.metadata.name, place])).toEqual([
      ['first', `${file}, document 2, item 1`],
      ['third', `${file}, document 2, item 3`],
    ]);
    expect(await read(`${START}items: [1]\n`)).toMatchObject([{ kind: 'X', items: [1] }]);
  });

  test('may come from standard input', async () => {
    giveStandardInput(Readable.from([START]));
    expect(await readManifests(['-'])).toMatchObject([{ document: { kind: 'X' }, place: '-, document 1' }]);
  });
});
