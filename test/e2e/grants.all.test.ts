/** References into another namespace, in a cluster that has the ReferenceGrants of the Gateway API. */
import { afterAll, describe, expect, test } from 'vitest';
import { startControlPlane } from '../../dev/control-plane/control-plane.ts';
import { GROUP } from '../../src/operator/contract/names.ts';
import { kubectlOn } from '../kubectl.ts';
import { NOT_OUR_CLUSTER, skipFor } from '../skip.ts';
import { referenceGrantCrd } from './foreign-crds.ts';
import { eventually, manifest, policy, ROOT, startStack } from './stack.ts';

const [FROM, TO] = ['default', 'policies'];
const SPEC = { type: 'http', ipPolicyRefs: [{ name: 'shared', namespace: TO }] };
const GRANT = {
  apiVersion: 'gateway.networking.k8s.io/v1beta1',
  kind: 'ReferenceGrant',
  metadata: { name: 'shared' },
  spec: {
    from: [{ group: GROUP, kind: 'EndpointConfiguration', namespace: FROM }],
    to: [{ group: GROUP, kind: 'IPPolicy', name: 'shared' }],
  },
};

// Not on the shared control plane: others count the watches that their operators have there.
describe('a reference into another namespace', skipFor(NOT_OUR_CLUSTER), async () => {
  const own = await startControlPlane({ controllerManager: false });
  afterAll(() => own.stop());
  const stack = await startStack({ prefix: 'grants', operators: 0 });

  async function run(args: string[], input?: object): Promise<string> {
    const result = await kubectlOn(own, args, input === undefined ? {} : { input: JSON.stringify(input) });
    expect(result).toMatchObject({ code: 0 });
    return result.stdout;
  }
  const untilReason = (condition: string, reason: string, object: string, namespace = FROM) => {
    const path = `jsonpath={.status.conditions[?(@.type=="${condition}")].reason}=${reason}`;
    return run(['-n', namespace, 'wait', `--for=${path}`, '--timeout=30s', object]);
  };
  const idOf = (object: string, namespace = FROM) =>
    run(['-n', namespace, 'get', object, '-o', 'jsonpath={.status.id}']);

  test('is permitted while there is a grant', async () => {
    await run(['apply', '--server-side', '-f', `${ROOT}crds`]);
    await run(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
    await run(['create', 'namespace', TO]);
    await stack.operate({ kubeconfig: own.kubeconfigPath, namespaces: [FROM, TO], leaseNamespace: FROM });
    await run(['-n', TO, 'apply', '-f', '-'], policy('shared'));
    await untilReason('Ready', 'Available', 'ipp/shared', TO);

    await run(['apply', '-f', '-'], manifest({ name: 'EndpointConfiguration' }, 'far', SPEC));
    await untilReason('ReferencesResolved', 'ReferenceNotPermitted', 'epc/far');
    expect(await idOf('epc/far')).toBe('');
    const message = () => run(['get', 'epc/far', '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].message}']);
    expect(await message()).toMatch(/: the cluster has no referencegrants\..*; install its CustomResourceDefinition$/);
    await run(['apply', '-f', '-'], referenceGrantCrd());
    await run(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
    // Noticed without anything having happened to the object.
    await eventually(async () => expect(await message()).toContain('have one created there'), 60_000);

    await run(['-n', TO, 'apply', '-f', '-'], GRANT);
    await untilReason('ReferencesResolved', 'Resolved', 'epc/far');
    await untilReason('Ready', 'Available', 'epc/far');
    const { ip_policies: used } = await stack.client.endpointConfigurations.get(await idOf('epc/far'));
    expect(used).toMatchObject([{ id: await idOf('ipp/shared', TO) }]);

    await run(['-n', TO, 'delete', 'referencegrant', 'shared']);
    await untilReason('Ready', 'ReferenceNotPermitted', 'epc/far');
    await run(['delete', 'epc', 'far', '--timeout=30s']);
    await run(['-n', TO, 'delete', 'ipp', 'shared', '--timeout=30s']);
    expect(await stack.remoteIds()).toEqual([]);
  });
});
