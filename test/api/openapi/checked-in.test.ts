/** Apart from the tests that need a server: whatever changes a definition shows here first, and at once. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';

test('the OpenAPI document is what docs/openapi.json has', async () => {
  const file = JSON.parse(await readFile(join(import.meta.dirname, '../../../docs/openapi.json'), 'utf8'));
  const served = JSON.parse(JSON.stringify(openApiDocument()));
  // Not toEqual: its hundreds of lines of difference would hide what to do.
  expect(isDeepStrictEqual(file, served), 'docs/openapi.json is out of date: run "npm run generate"').toBe(true);
});
