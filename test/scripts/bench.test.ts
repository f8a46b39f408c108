import { expect, test } from 'vitest';
import { z } from 'zod';
import { plan } from '../../bench/api/cases.ts';
import { BY_DEFAULT, PARTS } from '../../bench/parts.ts';
import { openApiDocument } from '../../src/api/openapi/document.ts';

const paths = z.record(z.string(), z.record(z.string(), z.unknown()));

/** Operations without their own row: lists (`paging` has those), and those of no family. */
const LEFT_OUT = ['GET /event_types', 'POST /credentials/authenticate', 'PUT /idempotency_keys/{}/closed'];

const anonymous = (path: string) => path.replaceAll(/\{\w+\}/g, '{}');

test('the bench measures the API, its paging and the operator', () => {
  expect(BY_DEFAULT).toEqual(['api', 'paging', 'operator']);
  expect(Object.keys(PARTS)).toEqual(expect.arrayContaining(BY_DEFAULT));
});

test('the bench of the API has a row for everything that gets one, creates or replaces', async () => {
  const { cases } = await plan();
  const measured = cases.map(({ method, path }) => `${method} ${anonymous(path)}`);
  const operations = Object.entries(paths.parse(openApiDocument().paths)).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
  );
  const lists = operations.filter(({ method }) => method === 'POST').map(({ path }) => path);
  const wanted = operations
    .filter(({ method, path }) => method === 'POST' || method === 'PUT' || (method === 'GET' && !lists.includes(path)))
    .map(({ method, path }) => `${method} ${anonymous(path)}`);
  expect(wanted.filter((each) => !measured.includes(each)).sort()).toEqual(LEFT_OUT);
});
