/** CustomResourceDefinitions that are missing, installed later and deleted again, on a control plane of their own. */
import { afterAll, describe, expect, test } from 'vitest';
import { startControlPlane } from '../../dev/control-plane/control-plane.ts';
import { GROUP } from '../../src/operator/contract/names.ts';
import { kubectlOn } from '../kubectl.ts';
import { NOT_OUR_CLUSTER, skipFor } from '../skip.ts';
import { referenceGrantCrd } from './foreign-crds.ts';
import { credential, manifest, policy } from './manifest.ts';
import { eventually, ROOT, startStack } from './stack.ts';

const [FROM, TO] = ['default', 'policies'];
const MESSAGE = 'the cluster has no ippolicies.tunnel-operator.dev; install its CustomResourceDefinition';
const CRD = `${ROOT}crds/tunnel-operator.dev_ippolicies.yaml`;

describe('without a CustomResourceDefinition', skipFor(NOT_OUR_CLUSTER), async () => {
  const own = await startControlPlane({ controllerManager: false });
  afterAll(() => own.stop());
  const stack = await startStack({ prefix: 'crd', operators: 0 });
  const settings = { kubeconfig: own.kubeconfigPath, namespaces: [FROM, TO], leaseNamespace: FROM };

  async function run(args: string[], input?: object): Promise<string> {
    const result = await kubectlOn(own, args, input === undefined ? {} : { input: JSON.stringify(input) });
    expect(result).toMatchObject({ code: 0 });
    return result.stdout;
  }
  const apply = (object: object, namespace = FROM) => run(['-n', namespace, 'apply', '-f', '-'], object);
  const ready = (object: string, namespace = FROM) =>
    run(['-n', namespace, 'wait', '--for=condition=Ready', '--timeout=40s', object]);
  const install = async () => {
    await run(['apply', '--server-side', '-f', CRD]);
    await run(['wait', '--for=condition=Established', '-f', CRD]);
  };
  const missing = (labels = {}) => stack.metric('tunnel_operator_crd_missing', labels);

  test('the kind is reported as missing, the others are served, and the kind starts once it is installed', async () => {
    await run(['apply', '--server-side', '-f', `${ROOT}crds/tunnel-operator.dev_*.yaml`]);
    await run(['create', 'namespace', TO]);
    await run(['delete', '-f', CRD]);
    const { healthUrl } = await stack.operate(settings);
    const readyz = async () => {
      const response = await fetch(`${healthUrl}/readyz`);
      return { status: response.status, text: await response.text() };
    };
    await apply(credential('one'));
    await ready('tcred/one');
    expect(await readyz()).toEqual({ status: 200, text: `ok\nIPPolicy: ${MESSAGE}\n` });
    expect(await missing({ kind: 'IPPolicy' })).toBe(1);
    expect(await missing()).toBe(1);
    const warnings = stack.logs.map((line) => JSON.parse(line)).filter(({ level }) => level > 30);
    expect(warnings).toContainEqual(expect.objectContaining({ resource: 'ippolicies', msg: MESSAGE }));

    await install();
    await apply(policy('one'));
    await ready('ipp/one');
    expect(await readyz()).toEqual({ status: 200, text: 'ok\n' });
    expect(await missing()).toBe(0);

    await run(['delete', 'ipp', '--all']);
    await run(['delete', '-f', CRD]);
    await eventually(async () => expect(await missing({ kind: 'IPPolicy' })).toBe(1));
    await stack.restart(undefined, settings);
    await apply(credential('two'));
    await ready('tcred/two');
    await install();
    await apply(policy('two'));
    await ready('ipp/two');
    await run(['delete', 'ipp,tcred', '--all']);
    expect(await stack.remoteIds()).toEqual([]);
  });

  test('of ReferenceGrants, references into other namespaces are refused; later they need a grant', async () => {
    const untilReason = async (condition: string, reason: string) => {
      const path = `jsonpath={.status.conditions[?(@.type=="${condition}")].reason}=${reason}`;
      await run(['wait', `--for=${path}`, '--timeout=30s', 'epc/far']);
    };
    const message = () => run(['get', 'epc/far', '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].message}']);
    await apply(policy('shared'), TO);
    await ready('ipp/shared', TO);
    const spec = { type: 'http', ipPolicyRefs: [{ name: 'shared', namespace: TO }] };
    await apply(manifest('EndpointConfiguration', 'far', spec));
    await untilReason('ReferencesResolved', 'ReferenceNotPermitted');
    expect(await message()).toMatch(/: the cluster has no referencegrants\..*; install its CustomResourceDefinition$/);
    await apply(referenceGrantCrd());
    await run(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
    // The operator notices the new kind without a change of the object.
    await eventually(async () => expect(await message()).toContain('have one created there'), 60_000);

    const grant = {
      apiVersion: 'gateway.networking.k8s.io/v1beta1',
      kind: 'ReferenceGrant',
      metadata: { name: 'shared' },
      spec: {
        from: [{ group: GROUP, kind: 'EndpointConfiguration', namespace: FROM }],
        to: [{ group: GROUP, kind: 'IPPolicy', name: 'shared' }],
      },
    };
    await apply(grant, TO);
    await untilReason('Ready', 'Available');
    const id = await run(['get', 'epc/far', '-o', 'jsonpath={.status.id}']);
    const target = await run(['-n', TO, 'get', 'ipp/shared', '-o', 'jsonpath={.status.id}']);
    expect((await stack.client.endpointConfigurations.get(id)).ip_policies).toMatchObject([{ id: target }]);

    await run(['-n', TO, 'delete', 'referencegrant', 'shared']);
    await untilReason('Ready', 'ReferenceNotPermitted');
    await run(['delete', 'epc', 'far', '--timeout=30s']);
    await run(['-n', TO, 'delete', 'ipp', 'shared', '--timeout=30s']);
    expect(await stack.remoteIds()).toEqual([]);
  });
});
