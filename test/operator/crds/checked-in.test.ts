/** Apart from the tests of what the CRDs say: whatever changes a kind shows here first, and at once. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { crdFileName, crdYaml } from '../../../src/operator/crds/crd.ts';
import { allKinds } from '../../../src/operator/kinds/kinds.ts';

test.each(allKinds)('the CRD of $kind is what its file has', async (kind) => {
  const file = `crds/${crdFileName(kind)}`;
  const checkedIn = await readFile(join(import.meta.dirname, '../../..', file), 'utf8');
  // Not toBe: its hundreds of lines of difference would hide what to do.
  expect(checkedIn === crdYaml(kind), `${file} is out of date: run "npm run generate"`).toBe(true);
});
