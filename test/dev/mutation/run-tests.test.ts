import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { testRunner } from '../../../dev/mutation/run-tests.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'mutation-run-')));
const write = (file: string, text: string) => writeFileSync(join(root, file), text);
const runner = testRunner({ root });

afterAll(async () => {
  await runner.stop();
  rmSync(root, { recursive: true });
});

test('what was broken and mended again is mended for the next run, whichever file that one changes', async () => {
  symlinkSync(realpathSync('node_modules'), join(root, 'node_modules'));
  mkdirSync(join(root, 'test'));
  write('package.json', '{"type": "module"}');
  write('vitest.config.ts', "export default { test: { include: ['test/*.test.ts'] } };");
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
  expect(await run('a.ts', 'a')).toEqual({ outcome: 'killed', test: 'a is 1' });
  write('a.ts', 'export const a = 1;');
  write('b.ts', 'export const b = 2;');
  expect(await run('b.ts', 'a')).toEqual({ outcome: 'survived' });
  expect(await run('b.ts', 'b')).toEqual({ outcome: 'killed', test: 'b is 1' });
  write('b.ts', 'throw new Error("broken");');
  expect(await run('b.ts', 'b')).toEqual({ outcome: 'killed', test: 'the file itself: broken' });
  write('b.ts', 'for (;;);');
  expect(await runner.run('b.ts', 'test/b.test.ts', 3_000)).toEqual({ outcome: 'timed out' });
  write('b.ts', 'export const b = 1;');
  expect(await run('a.ts', 'b')).toEqual({ outcome: 'survived' });
});
