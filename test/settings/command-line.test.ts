/** Flags on the command line of the program. */
import { expect, test } from 'vitest';
import { runCommand } from '../e2e/command.ts';

test('a repeatable flag takes all of its values', async () => {
  const namespaces = ['one', 'two', 'Not a name'].flatMap((name) => ['--namespace', name]);
  const { code, stderr } = await runCommand(['operator', ...namespaces], { API_KEY: 'k' });
  expect(stderr).toContain('--namespace is "one,two,Not a name", but must be names separated by commas');
  expect(code).toBe(1);
});
