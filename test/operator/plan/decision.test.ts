/** Of what an object has, `plan` knows what its reconcile would restore. */
import { expect, test } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { tlsEdgeKind } from '../../../src/operator/kinds/tls-edge.ts';
import { readSpec } from '../../../src/operator/managed/spec.ts';
import { decide } from '../../../src/operator/plan/decision.ts';
import { object } from '../objects.ts';

const [OWN, OTHER] = ['edgtls_01m7yvm3eyf20vnt1006h45zq2', 'edgtls_01m7yvm3eyf20vnt1006h45zq3'];
const status = { id: OWN, createGeneration: 2 };
const superseded = JSON.stringify([{ id: OWN, generation: 2, after: '2026-11-21T10:00:00Z' }]);

/** What is asked for, of resources that do not exist. */
async function observed(planned: ReturnType<typeof object>) {
  const asked: string[] = [];
  const external = {
    ...tlsEdgeKind.external(createClient({ baseUrl: 'http://localhost:1', apiKey: 'x' })),
    sight: async () => 'everything' as const,
    async observe(id: string) {
      asked.push(id);
      return undefined;
    },
  };
  await decide(undefined, external, planned, readSpec(tlsEdgeKind.spec, planned));
  return asked;
}

test.each([
  ['its status shows, whatever else the annotation names', object({ status }, { externalId: OTHER }), [OWN]],
  ['its status shows, whatever the annotation is', object({ status }, { externalId: '../users' }), [OWN]],
  [
    'its annotation names, once what the status shows is superseded',
    object({ status }, { externalId: OTHER, retiring: superseded }),
    [OTHER],
  ],
  ['its annotation names, without a status', object({}, { externalId: OTHER }), [OTHER]],
  ['nothing names', object(), []],
])('an object has what %s', async (_, planned, ids) => {
  expect(await observed(planned)).toEqual(ids);
});

test('what is no id is not asked for', async () => {
  await expect(observed(object({}, { externalId: '../users' }))).rejects.toThrow(
    '../users, which tunnel-operator.dev/external-id names, is no id of this kind',
  );
});
