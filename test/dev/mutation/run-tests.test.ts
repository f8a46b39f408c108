import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { isExecuted } from '../../../dev/mutation/coverage.ts';
import { testRunner } from '../../../dev/mutation/run-tests.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'mutation-run-')));
const write = (file: string, text: string) => writeFileSync(join(root, file), text);
const runner = testRunner({ root }, ['signs.ts']);

afterAll(async () => {
  await runner.stop();
  rmSync(root, { recursive: true });
});

beforeAll(() => {
  symlinkSync(realpathSync('node_modules'), join(root, 'node_modules'));
  mkdirSync(join(root, 'test'));
  write('package.json', '{"type": "module"}');
  write('vitest.config.ts', "export default { test: { include: ['test/*.test.ts'] } };");
  // The runner lists the test files when it starts.
  for (const name of ['a', 'b', 'signs']) write(`test/${name}.test.ts`, '');
});

test('a measured run tells what it has executed of a source file', async () => {
  const source = `const SIGNS: string[] = ['-', '+'];
export function sign(n: number) {
  if (n > 0) return SIGNS[1];
  return n < 0 ? SIGNS[0] : '';
}
export const twice = (n: number) => n * 2;
`;
  write('signs.ts', source);
  write(
    'test/signs.test.ts',
    `import { expect, test } from 'vitest'; import { sign } from '../signs.ts';
     test('0 has none', () => expect(sign(0)).toBe(''));`,
  );
  const run = (measured: boolean) => runner.run('signs.ts', 'test/signs.test.ts', 60_000, measured);
  const verdict = await run(true);
  const coverage = (verdict.outcome === 'survived' ? verdict.coverage : undefined) ?? {};
  const executed = (text: string) => isExecuted(coverage, 'signs.ts', source, source.indexOf(text));
  const places = ["['-'", 'n > 0', 'SIGNS[1]', 'n < 0', 'n * 2'];
  expect(places.filter(executed)).toEqual(["['-'", 'n > 0', 'n < 0']);
  expect(isExecuted(coverage, 'a.ts', '1', 0)).toBe(true);
  expect(await run(false)).toEqual({ outcome: 'survived' });
});

test('what was broken and mended again is mended for the next run, whichever file that one changes', async () => {
  write('a.ts', 'export const a = 1;');
  write('b.ts', 'export const b = 1;');
  const one = (name: string) =>
    `import { expect, test } from 'vitest'; import { ${name} } from '../${name}.ts';
     test('${name} is 1', () => expect(${name}).toBe(1));`;
  write('test/a.test.ts', one('a'));
  write('test/b.test.ts', one('b'));
  const run = (changed: string, name: string) => runner.run(changed, `test/${name}.test.ts`, 60_000);

  expect(await run('a.ts', 'a')).toEqual({ outcome: 'survived' });
  write('a.ts', 'export const a = 2;');
  expect(await run('a.ts', 'a')).toEqual({ outcome: 'killed', by: 'a is 1' });
  write('a.ts', 'export const a = 1;');
  write('b.ts', 'export const b = 2;');
  expect(await run('b.ts', 'a')).toEqual({ outcome: 'survived' });
  expect(await run('b.ts', 'b')).toEqual({ outcome: 'killed', by: 'b is 1' });
  write('b.ts', 'throw new Error("broken");');
  expect(await run('b.ts', 'b')).toEqual({ outcome: 'killed', by: 'the file itself: broken' });
  write('b.ts', 'for (;;);');
  expect(await runner.run('b.ts', 'test/b.test.ts', 3_000)).toEqual({ outcome: 'killed', by: 'timeout' });
  write('b.ts', 'export const b = 1;');
  expect(await run('a.ts', 'b')).toEqual({ outcome: 'survived' });
});

test('nothing that a test has started outlives the runner', async () => {
  const pidFile = join(root, 'pid');
  write(
    'test/a.test.ts',
    `import { spawn } from 'node:child_process'; import { writeFileSync } from 'node:fs'; import { test } from 'vitest';
     test('leaves a process behind', () => {
       const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
       writeFileSync(${JSON.stringify(pidFile)}, String(child.pid));
     });`,
  );
  const other = testRunner({ root });
  expect(await other.run('a.ts', 'test/a.test.ts', 60_000)).toEqual({ outcome: 'survived' });
  await other.stop();
  const pid = Number(readFileSync(pidFile, 'utf8'));
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), { timeout: 20_000 });
});
