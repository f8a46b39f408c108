import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importsOf, type Reach, startsProcess, testsThatReach } from '../../../dev/mutation/reach.ts';

const IMPORTS = new Map([
  ['test/api/store/a.test.ts', ['src/api/store/a.ts']],
  ['test/api/store/other.test.ts', ['src/api/store/b.ts']],
  ['test/api/store/far.test.ts', ['src/api/store/c.ts']],
  ['test/api/crud/d.test.ts', ['src/api/store/b.ts']],
  ['test/api/http/e.test.ts', ['src/api/store/b.ts']],
  ['test/e2e/f.test.ts', ['dev/processes/program.ts']],
  ['test/e2e/f.deep.test.ts', ['dev/processes/program.ts']],
  ['dev/processes/program.ts', ['src/main.ts']],
  ['src/main.ts', ['src/api/store/b.ts']],
  ['test/api/http/j.test.ts', ['src/api/store/b.ts', 'node:child_process']],
  ['test/e2e/k.test.ts', ['test/e2e/stack.ts']],
  ['test/e2e/stack.ts', ['dev/processes/program.ts']],
  ['src/api/store/b.ts', ['src/api/store/a.ts']],
  ['src/api/store/a.ts', []],
  ['src/api/store/c.ts', []],
  ['test/api/families/g.test.ts', ['src/resources/g.ts']],
  ['test/api/families/h.test.ts', ['src/resources/g.ts']],
  ['test/api/openapi/checked-in.test.ts', ['src/resources/g.ts', 'src/resources/formats/i.ts']],
]);

describe('the tests that can notice', () => {
  const near = ['test/api/store/a.test.ts', 'test/api/store/other.test.ts', 'test/api/crud/d.test.ts'];
  test.each<[Reach, string[]]>([
    ['near', near],
    ['program', [...near, 'test/api/http/e.test.ts', 'test/api/http/j.test.ts']],
    [
      'all',
      [...near, 'test/api/http/e.test.ts', 'test/api/http/j.test.ts', 'test/e2e/f.test.ts', 'test/e2e/k.test.ts'],
    ],
  ])('within reach "%s", the nearest first', (reach, expected) => {
    expect(testsThatReach('src/api/store/a.ts', reach, IMPORTS)).toEqual(expected);
  });
});

test.each([
  ['src/resources/g.ts', ['test/api/families/g.test.ts', 'test/api/openapi/checked-in.test.ts']],
  ['src/resources/formats/i.ts', ['test/api/openapi/checked-in.test.ts']],
])('near %s are also a test of the same name, and what NEAR says of its room', (source, expected) => {
  expect(testsThatReach(source, 'near', IMPORTS)).toEqual(expected);
});

test('the coverage of a test file tells only what its own process executes', () => {
  const tests = [...IMPORTS.keys()].filter((file) => file.endsWith('.test.ts'));
  expect(tests.filter((file) => startsProcess(file, IMPORTS))).toEqual([
    'test/e2e/f.test.ts',
    'test/e2e/f.deep.test.ts',
    'test/api/http/j.test.ts',
    'test/e2e/k.test.ts',
  ]);
});

test('imports are read from the files; types are none, and a program is reached by those that start it', () => {
  const root = join(import.meta.dirname, '../../..');
  const files = ['dev/processes/program.ts', 'src/operator/managed/disposal.ts', 'README.md', 'src/main.ts'];
  const imports = importsOf(root, files);
  expect([...imports.keys()]).toEqual(files.filter((file) => file.endsWith('.ts')));
  expect(imports.get('dev/processes/program.ts')).toContain('src/main.ts');
  expect(imports.get('src/operator/managed/disposal.ts')).toContain('src/operator/managed/identity.ts');
  expect(imports.get('src/operator/managed/disposal.ts')).not.toContain('src/operator/managed/managed-object.ts');
  expect(imports.get('src/main.ts')).toContain('src/api/server.ts');
});
