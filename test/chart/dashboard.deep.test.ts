/** Every query of the dashboard finds something in a Prometheus that scrapes a running API and operator. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { eventually, POLICIES, policy, startStack } from '../e2e/stack.ts';
import { skipFor } from '../skip.ts';
import { CHART } from './helm.ts';
import { LACKS_PROMETHEUS, type Prometheus, startPrometheus } from './prometheus.ts';

const { panels, templating } = z
  .object({
    panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
    templating: z.object({ list: z.array(z.object({ name: z.string(), query: z.string() })) }),
  })
  .parse(JSON.parse(await readFile(join(CHART, 'files/dashboard.json'), 'utf8')));
const queries = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })));

const NAMESPACE = 'tunnels';

describe('of a running system', skipFor(LACKS_PROMETHEUS), async () => {
  const stack = await startStack({ prefix: 'dashboard', operators: 0 });
  let prometheus: Prometheus | undefined;
  const traffic = new AbortController();
  let flowing: Promise<void> | undefined;

  beforeAll(async () => {
    const operator = await stack.operate();
    const target = (job: string, url = '') => ({
      url,
      labels: { job, namespace: NAMESPACE, pod: `${job}-0`, service: `${job}-metrics` },
    });
    prometheus = await startPrometheus(
      [target('tunnel-operator-api', stack.api.url), target('tunnel-operator', operator.healthUrl)],
      join(CHART, 'files/alerts.yaml'),
    );
    // One that is Ready, and one that never will be.
    await stack.apply(policy('fine'), policy('adopts', {}, { [ANNOTATION.adopt]: 'ipp_none' }));
    await stack.ready(POLICIES, 'fine');
    flowing = flow();
  });
  afterAll(async () => {
    traffic.abort();
    await Promise.all([flowing, prometheus?.stop()]);
  });

  /** Changes objects again and again, so that rates are of something. */
  async function flow(): Promise<void> {
    for (let round = 0; !traffic.signal.aborted; round++) {
      await stack.apply(policy('fine', { description: `round ${round}` }));
      await stack.annotate(POLICIES, 'adopts', { [ANNOTATION.reconcileRequestedAt]: `${round}` });
      await delay(200);
    }
  }

  test.each(queries)('$title: $expr', async ({ expr }) => {
    const asked = expr.replaceAll('$namespace', NAMESPACE).replaceAll('$__rate_interval', '30s');
    expect(asked).not.toContain('$');
    await eventually(async () => {
      const values = await prometheus?.query(asked);
      expect(values).not.toEqual([]);
      expect(values?.filter(Number.isNaN)).toEqual([]);
    }, 60_000);
  });

  test('the namespaces to choose from are those of the programs', async () => {
    const { query = '' } = templating.list.find(({ name }) => name === 'namespace') ?? {};
    const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(query) ?? [];
    expect(await prometheus?.labelValues(selector, label)).toEqual([NAMESPACE]);
  });

  test('every rule can be evaluated, and none pages anybody while all is well', async () => {
    await eventually(async () => {
      const rules = await prometheus?.rules();
      expect(rules).not.toEqual([]);
      expect(rules?.filter(({ health }) => health !== 'ok')).toEqual([]);
      expect(rules?.filter(({ state, labels }) => state !== 'inactive' && labels.severity === 'critical')).toEqual([]);
    }, 60_000);
  });
});
