/**
 * Removes each right that the chart grants in turn. Something then fails with a message that names it, so no right is
 * superfluous, and none is missed silently. The control plane also requires rights on the finalizers of owners.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { startControlPlane } from '../../dev/control-plane/control-plane.ts';
import { chartAccount, chartRules, type Rule } from '../e2e/chart-account.ts';
import { dnsEndpointCrd, referenceGrantCrd } from '../e2e/foreign-crds.ts';
import { credential, manifest, policy } from '../e2e/manifest.ts';
import { ROOT, startStack } from '../e2e/stack.ts';
import { kubectlOn } from '../kubectl.ts';
import { NOT_OUR_CLUSTER, skipFor } from '../skip.ts';

const ENFORCED = '--enable-admission-plugins=OwnerReferencesPermissionEnforcement';

interface Right {
  readonly rule: Rule;
  readonly verb: string;
}

/** Whether a message, the API server's or ours, says that the right is missing. */
function namesRight(text: string, { rule, verb }: Right, namespace: string): boolean {
  const names = rule.resources.map((name) => name.replaceAll('/', '\\/')).join('|');
  const refused = new RegExp(
    `cannot ${verb} resource \\\\*"(${names})\\\\*"[^}]*in the namespace \\\\*"${namespace}\\\\*"`,
  );
  const watched = new RegExp(`not allowed to ${verb} (${names})[\\w.-]* in namespace ${namespace}`);
  // Admission asks for the right to set blockOwnerDeletion.
  const owned = /cannot set blockOwnerDeletion/;
  return (
    refused.test(text) ||
    watched.test(text) ||
    (rule.resources[0]?.endsWith('/finalizers') === true && owned.test(text))
  );
}

describe('without the right to', skipFor(NOT_OUR_CLUSTER), async () => {
  const own = await startControlPlane({ apiServerArgs: [ENFORCED] });
  afterAll(() => own.stop());
  const stack = await startStack({ prefix: 'rights', operators: 0 });
  const rules = await chartRules();
  const rights = rules.flatMap((rule) => rule.verbs.map((verb) => ({ rule, verb })));
  const run = (args: readonly string[], options?: { input?: string }) => kubectlOn(own, args, options);
  const apply = (...items: object[]) =>
    run(['apply', '-f', '-'], { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });

  await apply(referenceGrantCrd(), dnsEndpointCrd());
  await run(['apply', '--server-side', '-f', `${ROOT}crds/tunnel-operator.dev_*.yaml`]);
  await run(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);

  /** Makes the operator do everything that it does, once per round; it may fail. */
  async function provoke(namespace: string, round: number): Promise<void> {
    const even = round % 2 === 0;
    const domain = { domain: `${namespace}.example.com`, dns: { publish: round % 4 < 2 } };
    const items = [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'page' }, data: { text: `round ${round}` } },
      policy('p', { description: even ? 'even' : 'odd' }),
      credential('c', { secret: { name: even ? 'one' : 'other' } }),
      manifest('HTTPResponseBackend', 'page', { body: { configMapKeyRef: { name: 'page', key: 'text' } } }),
      manifest('ReservedDomain', 'd', domain),
      policy(`gone-${round}`),
    ].map((object) => ({ ...object, metadata: { ...object.metadata, namespace } }));
    expect(await apply(...items)).toMatchObject({ code: 0, stderr: '' });
    await delay(500);
    const inNamespace = ['-n', namespace];
    await run([...inNamespace, 'label', 'secret', '--all', 'app.kubernetes.io/managed-by-']);
    await run([...inNamespace, 'patch', 'dnsendpoint', 'd', '--type=merge', '-p', '{"spec":{"endpoints":[]}}']);
    const rotation = `tunnel-operator.dev/rotate-requested-at=${round}`;
    await run([...inNamespace, 'annotate', '--overwrite', 'tcred', 'c', rotation]);
    const requested = `tunnel-operator.dev/reconcile-requested-at=${round}`;
    await run([...inNamespace, 'annotate', '--overwrite', 'tunnels', '--all', requested]);
    await run([...inNamespace, 'delete', 'ipp', `gone-${round}`, '--wait=false']);
  }

  test.concurrent.for(
    rights.map((right, number) => ({ ...right, number, name: `${right.verb} ${right.rule.resources.at(0)}` })),
  )('$name, a message names it', { timeout: 300_000 }, async (right) => {
    const { rule, verb, number } = right;
    const namespace = `right-${number}`;
    await run(['create', 'namespace', namespace]);
    const without = (all: Rule[]) =>
      all
        .map((each) => ({
          ...each,
          verbs: each.verbs.filter((one) => one !== verb || String(each.resources) !== String(rule.resources)),
        }))
        .filter(({ verbs }) => verbs.length > 0);
    const kubeconfig = await chartAccount(run, namespace, [namespace], without);
    const operator = stack.makeOperator({
      kubeconfig,
      namespaces: [namespace],
      leaseNamespace: namespace,
      leaderElect: true,
      leaseMs: 6_000,
    });
    // Without some rights, the start never finishes.
    void operator.start().catch(() => undefined);
    const isNamed = async () => {
      const objects = await run(['-n', namespace, 'get', 'tunnels', '-o', 'json']);
      return [...stack.logs, objects.stdout].some((text) => namesRight(text, right, namespace));
    };
    const deadline = Date.now() + 120_000;
    let named = false;
    for (let round = 0; !named && Date.now() < deadline; round++) {
      await provoke(namespace, round);
      named = await isNamed();
    }
    await stack.stopOperator(operator);
    expect(named, `nothing says that ${verb} on ${rule.resources.join(', ')} is missing`).toBe(true);
  });
});
