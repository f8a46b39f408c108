/** How many descriptors a process may have, and what is left of them for connections. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, expect, test, vi } from 'vitest';
import { connectionCaps, descriptorLimit } from '../../../src/api/http/descriptors.ts';

afterEach(() => vi.restoreAllMocks());

test('the limit of descriptors is that of the process', async () => {
  const script = `import { descriptorLimit } from ${JSON.stringify(new URL('../../../src/api/http/descriptors.ts', import.meta.url).href)}; console.log(descriptorLimit())`;
  const shell = ['-c', 'ulimit -n 200; exec "$0" --input-type=module -e "$1"', process.execPath, script];
  expect((await promisify(execFile)('/bin/sh', shell)).stdout.trim()).toBe('200');
});

test('the limit is read without looking up the names of all peers', () => {
  Object.assign(process.report, { excludeNetwork: false });
  expect(descriptorLimit()).toBeGreaterThan(0);
  expect(process.report).toMatchObject({ excludeNetwork: true });
});

test.each([
  ['has no such limit', { userLimits: { open_files: { soft: 'unlimited', hard: 'unlimited' } } }],
  ['does not tell', {}],
])('where the system %s, it is what most give a process at least', (_, told) => {
  vi.spyOn(process.report, 'getReport').mockReturnValue(told);
  expect(descriptorLimit()).toBe(1024);
});

test.each([
  [10_000, 20, 1_000_000, { most: 10_000, surplus: 64 }],
  [10_000, 20, 20_000, { most: 10_000, surplus: 64 }],
  [10_000, 20, 300, { most: 189, surplus: 27 }],
  [100, 20, 300, { most: 100, surplus: 27 }],
  [10_000, 236, 300, { most: 0, surplus: 0 }],
  [10_000, 1000, 300, { most: 0, surplus: 0 }],
])(
  'of %i wanted connections, with a pool of %i and %i descriptors, are taken: %j',
  (wanted, pool, descriptors, caps) => {
    expect(connectionCaps(wanted, pool, descriptors)).toEqual(caps);
  },
);
