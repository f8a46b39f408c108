/** The operator with fewer permissions than the chart grants: it reports what is missing until that is granted. */
import { describe, expect, test } from 'vitest';
import { kubectl } from '../harness.ts';
import { chartAccount } from './chart-account.ts';
import { CREDENTIALS, credential, POLICIES, policy } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

describe('without a permission', async () => {
  const stack = await startStack({ prefix: 'rights', operators: 0 });
  const { namespace } = stack;
  const plural = 'ippolicies';
  const file = await chartAccount(kubectl, namespace, [namespace], (rules) =>
    rules.map((rule) => ({ ...rule, resources: rule.resources.filter((name) => name !== plural) })),
  );

  test('the log names it once, and /readyz names it until it is granted', async () => {
    const resource = `${plural}.tunnel-operator.dev`;
    const missing = `not allowed to list ${resource} in namespace ${namespace}; grant get, list and watch on ${resource}`;
    const operator = stack.makeOperator({ kubeconfig: file });
    await operator.start();
    await eventually(async () => {
      const response = await fetch(`${operator.healthUrl}/readyz`);
      expect(await response.text()).toBe(`IPPolicy: ${missing}\n`);
      expect(response.status).toBe(503);
    });
    await eventually(async () => {
      expect(await stack.metric('tunnel_operator_watch_total', { activity: 'list-failed' })).toBeGreaterThan(1);
    });
    expect(await stack.metric('tunnel_operator_watch_forbidden')).toBe(1);
    expect(await stack.metric('tunnel_operator_watch_forbidden', { resource: plural })).toBe(1);
    const said = stack.logs.map((line) => JSON.parse(line)).filter(({ msg, level }) => msg === missing && level > 20);
    expect(said).toHaveLength(1);
    // Other kinds do not wait for it.
    await stack.apply(credential('c'), policy('p'));
    await stack.ready(CREDENTIALS, 'c');
    await chartAccount(kubectl, namespace, [namespace]);
    await stack.ready(POLICIES, 'p');
    expect(await stack.metric('tunnel_operator_watch_forbidden')).toBe(0);
    expect((await fetch(`${operator.healthUrl}/readyz`)).status).toBe(200);
  });
});

describe('without the permission to write Events', async () => {
  const stack = await startStack({ prefix: 'silent', operators: 0 });
  const file = await chartAccount(kubectl, stack.namespace, [stack.namespace], (rules) =>
    rules.filter(({ resources }) => !resources.includes('events')),
  );

  test('everything else works, and the log names the permission once', async () => {
    await stack.operate({ kubeconfig: file });
    await stack.apply(policy('a'), policy('b'));
    await stack.ready(POLICIES, 'a');
    await stack.ready(POLICIES, 'b');
    await eventually(async () => {
      expect(await stack.metric('tunnel_operator_kube_events_dropped_total', { reason: 'failed' })).toBe(2);
    });
    const warnings = stack.logs.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40);
    const msg = 'not allowed to write Kubernetes Events; grant create and patch on events';
    expect(warnings).toMatchObject([{ level: 40, msg }]);
  });
});
