/** Plays every row of the conformance table, and checks the table against the OpenAPI document. */
import { describe, expect, test } from 'vitest';
import { SECTIONS } from '../../dev/conformance/sections.ts';
import { document } from '../api/openapi/openapi-check.ts';
import { CONTRACT_OPERATIONS } from './contract-operations.ts';
import { readContract } from './coverage.ts';
import { play } from './play.ts';
import { witnessed } from './witness.ts';
import { createWorld, worldWith } from './world.ts';

const world = await createWorld();
const contract = readContract(document);

/** Values that no request of a row can receive. */
const UNASKED = [
  // For a method that a path lacks, which is no operation; and for a fault of the service.
  'Error.error_code: METHOD_NOT_ALLOWED',
  'Error.error_code: INTERNAL_ERROR',
  // For a transfer coding, which is no part of an injected request.
  'Error.error_code: NOT_IMPLEMENTED',
  // For the issuing of a certificate, which nothing here does.
  'ReservedDomainCertJob.error_code: DNS_ERROR',
  'ReservedDomainCertJob.error_code: INTERNAL_ERROR',
  // A number that differs from request to request.
  'EventDestinationTest.duration_ms',
  // For more deliveries than one request sends again.
  ...['after_id', 'only', 'only: all', 'only: failed', 'since', 'until'].map(
    (name) => `EventReplayResult.next.${name}`,
  ),
];

describe.each(SECTIONS)('$title', ({ rows }) => {
  test.each(rows)('$rule', async (row) => {
    const { api, callers, values } = row.settings ? await worldWith(row.settings) : world;
    await play(row, callers, values(), witnessed(api, contract));
  });
});

describe('the table', () => {
  const rows = SECTIONS.flatMap((section) => section.rows);

  test('states every rule once', () => {
    const rules = rows.map(({ rule }) => rule);
    expect(rules.filter((rule, index) => rules.indexOf(rule) !== index)).toEqual([]);
  });

  test('requests only documented operations', () => {
    const asked = rows.flatMap(({ ask, given = {}, later = [] }) => [
      ask,
      ...Object.values(given),
      ...later.map(([step]) => step),
    ]);
    const unknown = asked.filter((step) => step.as !== 'anonymous' && !contract.operationOf(step));
    expect(unknown.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });

  test('has, for each operation, a row in which it succeeds', () => {
    const succeeding = rows.filter(({ answer }) => answer.status < 300);
    const asked = new Set(succeeding.map(({ ask }) => contract.operationOf(ask)));
    expect(contract.operations.filter((operation) => !asked.has(operation)).map(({ name }) => name)).toEqual([]);
  });

  test('covers every field of every request and response, and every value of fields with a choice', () => {
    const covered = new Set(rows.flatMap((row) => [...contract.fieldsOf(row)]));
    const missing = [...contract.fields].filter((field) => !covered.has(field));
    expect(missing.sort(), 'send them in a sample, or in a row of dev/conformance/rows').toEqual(UNASKED.toSorted());
  });

  test.each(Object.entries(CONTRACT_OPERATIONS))('has the operations of the contract: %s', (title, operations) => {
    const section = SECTIONS.find((one) => one.title === title);
    const succeeding = (section?.rows ?? []).filter(({ answer }) => answer.status < 300);
    const asked = new Set(succeeding.map(({ ask }) => contract.operationOf(ask)?.name));
    expect(operations.filter((operation) => !asked.has(operation))).toEqual([]);
  });
});
