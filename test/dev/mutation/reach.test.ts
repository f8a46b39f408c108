import { join } from 'node:path';
import { expect, test } from 'vitest';
import { importsOf, startsProcess, testsThatReach } from '../../../dev/mutation/reach.ts';

const IMPORTS = new Map([
  ['test/api/store/a.test.ts', ['src/api/store/a.ts']],
  ['test/api/store/other.test.ts', ['src/api/store/b.ts']],
  ['test/api/store/far.test.ts', ['src/api/store/c.ts']],
  ['test/api/store/b.all.test.ts', ['src/api/store/b.ts']],
  ['test/api/crud/d.test.ts', ['src/api/store/b.ts']],
  ['test/e2e/f.test.ts', ['dev/processes/program.ts']],
  ['dev/processes/program.ts', ['src/main.ts']],
  ['src/main.ts', ['src/api/store/b.ts']],
  ['test/api/http/j.test.ts', ['src/api/store/b.ts', 'src/main.ts']],
  ['test/e2e/k.test.ts', ['test/e2e/stack.ts']],
  ['test/e2e/stack.ts', ['dev/processes/program.ts']],
  ['src/api/store/b.ts', ['src/api/store/a.ts']],
  ['test/conformance/conformance.test.ts', ['src/api/store/a.ts']],
]);

test('the tests of a tier that reach a file: the nearest first, those that start processes last', () => {
  const near = ['test/api/store/a.test.ts', 'test/api/store/other.test.ts'];
  const far = ['test/conformance/conformance.test.ts', 'test/api/crud/d.test.ts', 'test/api/http/j.test.ts'];
  const ends = ['test/e2e/f.test.ts', 'test/e2e/k.test.ts'];
  expect(testsThatReach('src/api/store/a.ts', IMPORTS, (test) => !test.includes('.all.'))).toEqual([
    ...near,
    ...far,
    ...ends,
  ]);
  expect(testsThatReach('src/api/store/b.ts', IMPORTS, () => true)[0]).toBe('test/api/store/b.all.test.ts');
});

test('the coverage of a test file says nothing of the processes that it starts', () => {
  const tests = [...IMPORTS.keys()].filter((file) => file.endsWith('.test.ts'));
  expect(tests.filter((file) => startsProcess(file, IMPORTS))).toEqual([
    'test/e2e/f.test.ts',
    'test/api/http/j.test.ts',
    'test/e2e/k.test.ts',
  ]);
});

test('imports are read from the files, without types; what starts a program reaches it', () => {
  const root = join(import.meta.dirname, '../../..');
  const files = ['dev/processes/program.ts', 'test/log.test.ts', 'README.md', 'src/main.ts'];
  const imports = importsOf(root, files);
  expect([...imports.keys()]).toEqual(files.filter((file) => file.endsWith('.ts')));
  expect(imports.get('dev/processes/program.ts')).toContain('src/main.ts');
  expect(imports.get('test/log.test.ts')).toContain('src/main.ts');
  expect(imports.get('src/main.ts')).toContain('src/api/server.ts');
});
