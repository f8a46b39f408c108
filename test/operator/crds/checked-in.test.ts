/** Separate from the tests of the contents of the CRDs: a change to a kind shows here first, and quickly. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { crdFileName, crdYaml } from '../../../src/operator/crds/crd.ts';
import { allKinds } from '../../../src/operator/kinds/kinds.ts';

test.each(allKinds)('the CRD of $kind equals its checked-in file', async (kind) => {
  const file = `crds/${crdFileName(kind)}`;
  const checkedIn = await readFile(join(import.meta.dirname, '../../..', file), 'utf8');
  // Not toBe on the texts: a diff of hundreds of lines would hide the remedy.
  expect(checkedIn === crdYaml(kind), `${file} is out of date: run "npm run generate"`).toBe(true);
});
