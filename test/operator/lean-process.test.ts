/** Loads the operator in a process of its own, because a loaded module stays loaded. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const SRC = join(import.meta.dirname, '../../src');

/** Loads the operator; prints how many of the library's generated modules are loaded, and the sizes of the heap. */
const program = (before: string, after: string) => `
  import { registerHooks } from 'node:module';
  import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';
  const generated = [];
  registerHooks({
    load(url, context, next) {
      if (/client-node\\/dist\\/gen\\/(models|apis)\\//.test(url)) generated.push(url);
      return next(url, context);
    },
  });
  ${before}
  await import('${SRC}/operator/operator.ts');
  const { OuterShell } = await import('${SRC}/operator/outer-shell.ts');
  const { loadKubeConfig } = await import('${SRC}/operator/kube/kube-config.ts');
  ${after}
  // Objects that outlive a collection of the young generation and die in the old one.
  let kept = [];
  // The young generation grows and shrinks with each collection; its largest size counts.
  let young = 0;
  for (let n = 0; n < 2_000_000; n++) {
    kept[n % 30_000] = { n, text: 'n' + n };
    if (n % 20_000 > 0) continue;
    const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    young = Math.max(young, space_size);
  }
  console.log(JSON.stringify({
    generated: generated.length,
    base: Object.getPrototypeOf(OuterShell).name,
    config: loadKubeConfig(undefined).constructor.name,
    youngMiB: Math.ceil(young / 2 ** 20),
    heapMiB: Math.ceil(getHeapStatistics().total_heap_size / 2 ** 20),
  }));
`;

async function load(before = '', after = '') {
  const env = { ...process.env, KUBECONFIG: undefined, HOME: import.meta.dirname };
  const args = ['--input-type=module', '--eval', program(before, after)];
  return JSON.parse((await run(process.execPath, args, { env })).stdout);
}

test('the operator loads none of the classes that it never calls, and stays small', { timeout: 60_000 }, async () => {
  const lean = `const { keepProcessSmall, collectOnce } = await import('${SRC}/operator/lean-process.ts');`;
  const found = await load(`${lean} keepProcessSmall();`, 'collectOnce();');
  expect(found).toMatchObject({ base: 'Operator', config: 'OwnKubeConfig' });
  // The base classes of the generated ones are part of the configuration.
  expect(found.generated).toBeLessThan(10);
  // Without keepProcessSmall and collectOnce, all figures are higher.
  const whole = await load();
  expect(whole.generated).toBeGreaterThan(500);
  expect(found.youngMiB).toBeLessThan(whole.youngMiB / 2);
  expect(found.heapMiB).toBeLessThan(whole.heapMiB / 2);
});
