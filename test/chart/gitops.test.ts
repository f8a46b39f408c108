/** What the chart and docs/operator/gitops.md have for Argo CD and Flux. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { customResources } from '../../src/operator/crds/custom-resources.ts';
import { DEFAULT_STATUS } from '../../src/operator/managed/identity/recorded-status.ts';
import { kubectl } from '../harness.ts';
import { skipFor } from '../skip.ts';
import { argoHealth, LACKS_LUA } from './argocd.ts';
import { CHART, DATABASE, helm, render } from './helm.ts';

const ROOT = join(import.meta.dirname, '../..');

describe('Argo CD', skipFor(LACKS_LUA), () => {
  const object = (status: object | undefined, metadata: object = {}) => ({
    metadata: { name: 'a', generation: 2, ...metadata },
    status,
  });
  const seen = (status: string, reason: string, ...more: string[]) => ({
    observedGeneration: 2,
    conditions: [
      ...more.map((type) => ({ type, status: 'True', reason, message: '' })),
      { type: 'Ready', status, reason, message: `says ${reason}` },
    ],
  });
  const ready = seen('True', 'Available');
  const unseen = 'The operator has not seen the latest change.';

  test.each<[string, object, string, string]>([
    ['has no status', object(undefined), 'Progressing', unseen],
    ['has not been seen', object(DEFAULT_STATUS), 'Progressing', unseen],
    ['is Ready', object(ready), 'Healthy', 'says Available'],
    ['has changed since', object({ ...ready, observedGeneration: 1 }), 'Progressing', unseen],
    ['waits', object(seen('False', 'ReferenceNotFound', 'Reconciling')), 'Progressing', 'says ReferenceNotFound'],
    ['is refused', object(seen('False', 'Rejected', 'Stalled')), 'Degraded', 'says Rejected'],
    [
      'has changed after a refusal',
      object({ ...seen('False', 'Rejected', 'Stalled'), observedGeneration: 1 }),
      'Progressing',
      unseen,
    ],
    ['is paused', object(seen('Unknown', 'Paused')), 'Suspended', 'says Paused'],
    ['is being deleted', object(ready, { deletionTimestamp: '2026-01-01T00:00:00Z' }), 'Progressing', 'says Available'],
    ['has no conditions', object({ observedGeneration: 2, conditions: null }), 'Progressing', ''],
  ])('shows an object that %s', (_, given, status, message) => {
    expect(argoHealth([given])).toEqual([{ status, message }]);
  });

  test('has a check for every kind in the ConfigMap of the chart', async () => {
    const values = { ...DATABASE, argoCD: { healthChecks: true } };
    const [map] = await render(values, { only: ['argocd-health.yaml'] });
    const check = await readFile(join(CHART, 'files/argocd-health.lua'), 'utf8');
    const keys = customResources.map(({ kind }) => `resource.customizations.health.tunnel-operator.dev_${kind}`);
    expect(map?.data).toEqual(Object.fromEntries(keys.map((key) => [key, expect.stringContaining(check.trimEnd())])));
  });
});

test('the values in docs/operator/gitops.md are values of the chart', async () => {
  const page = await readFile(join(ROOT, 'docs/operator/gitops.md'), 'utf8');
  const blocks = [...page.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = '']) => text);
  const application = z.object({
    spec: z.object({ source: z.object({ helm: z.object({ valuesObject: z.looseObject({}) }) }) }),
  });
  const release = z.object({ spec: z.object({ values: z.looseObject({}) }) });
  const values = blocks
    .flatMap((text) => parseAllDocuments(text).map((document): unknown => document.toJS()))
    .flatMap((given) => [
      application.safeParse(given).data?.spec.source.helm.valuesObject ?? [],
      release.safeParse(given).data?.spec.values ?? [],
    ])
    .flat();
  expect(values).toHaveLength(2);
  for (const each of values)
    expect(await helm(['template', 'tunnels', CHART], each)).toMatchObject({ code: 0, stderr: '' });
});

test('crds/ is a base for kustomize, with every kind', async () => {
  const { code, stdout } = await kubectl(['kustomize', join(ROOT, 'crds')]);
  expect(code).toBe(0);
  const names = [...stdout.matchAll(/^ {2}name: (\S+)$/gm)].map(([, name]) => name);
  expect(names.toSorted()).toEqual(customResources.map(({ plural }) => `${plural}.tunnel-operator.dev`).toSorted());
});
