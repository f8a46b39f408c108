/** Needs no server, so that a changed definition shows here first, and at once. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';

test('docs/openapi.json is the current OpenAPI document', async () => {
  const file = JSON.parse(await readFile(join(import.meta.dirname, '../../../docs/openapi.json'), 'utf8'));
  const served = JSON.parse(JSON.stringify(openApiDocument()));
  // Not toEqual: its diff of hundreds of lines would hide what to do.
  expect(isDeepStrictEqual(file, served), 'docs/openapi.json is out of date: run "npm run generate"').toBe(true);
});
