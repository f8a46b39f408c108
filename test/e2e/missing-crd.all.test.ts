/** A cluster that lacks the CustomResourceDefinition of one kind, on a control plane of its own. */
import { afterAll, describe, expect, test } from 'vitest';
import { startControlPlane } from '../../dev/control-plane/control-plane.ts';
import { kubectlOn } from '../kubectl.ts';
import { answering, apiError } from '../operator/kube/answering.ts';
import { NOT_OUR_CLUSTER, skipFor } from '../skip.ts';
import { credential, eventually, type Manifest, policy, ROOT, type RunningOperator, startStack } from './stack.ts';

const MESSAGE = 'the cluster has no ippolicies.tunnel-operator.dev; install its CustomResourceDefinition';

describe('without the CustomResourceDefinition of one kind', skipFor(NOT_OUR_CLUSTER), async () => {
  const own = await startControlPlane({ controllerManager: false });
  afterAll(() => own.stop());
  const stack = await startStack({ prefix: 'crd', operators: 0 });
  const settings = { kubeconfig: own.kubeconfigPath, namespaces: ['default'], leaseNamespace: 'default' };
  const crd = `${ROOT}crds/tunnel-operator.dev_ippolicies.yaml`;

  async function run(args: string[], input?: string): Promise<string> {
    const result = await kubectlOn(own, args, input === undefined ? {} : { input });
    expect(result).toMatchObject({ code: 0 });
    return result.stdout;
  }
  const apply = (manifest: Manifest) => run(['apply', '-f', '-'], JSON.stringify(manifest));
  const ready = (object: string) => run(['wait', '--for=condition=Ready', '--timeout=40s', object]);
  const readyz = async ({ healthUrl }: RunningOperator) => {
    const response = await fetch(`${healthUrl}/readyz`);
    return { status: response.status, text: await response.text() };
  };
  /** What the log has said since the last time: warnings, and with which kinds operators have begun. */
  const taken = () => {
    const said = stack.logs.splice(0).map((line) => JSON.parse(line));
    const warned = said.filter(({ level }) => level > 30);
    return {
      warnings: warned.map(({ time: _, pid: __, hostname: ___, ...line }) => line),
      begun: said.filter(({ msg }) => msg === 'reconciling').map(({ kinds }) => kinds),
    };
  };
  const saidOnce = [{ level: 40, resource: 'ippolicies', namespace: 'default', msg: MESSAGE }];

  test('the others are served, it is said, and the kind starts when it comes', async () => {
    await run(['apply', '--server-side', '-f', `${ROOT}crds`]);
    await run(['delete', '-f', crd]);
    const operator = await stack.operate(settings);
    await apply(credential('one'));
    await ready('tcred/one');
    expect(await readyz(operator)).toEqual({ status: 200, text: `ok\nIPPolicy: ${MESSAGE}\n` });
    expect(await stack.metric('tunnel_operator_crd_missing', { kind: 'IPPolicy' })).toBe(1);
    expect(await stack.metric('tunnel_operator_crd_missing')).toBe(1);
    expect(taken()).toEqual({ warnings: saidOnce, begun: [expect.not.arrayContaining(['IPPolicy'])] });

    await run(['apply', '--server-side', '-f', crd]);
    await run(['wait', '--for=condition=Established', '-f', crd]);
    await apply(policy('one'));
    await ready('ipp/one');
    expect(taken().begun).toEqual([['IPPolicy']]);
    expect(await readyz(operator)).toEqual({ status: 200, text: 'ok\n' });
    expect(await stack.metric('tunnel_operator_crd_missing')).toBe(0);
  });

  test('also if it goes while the operator runs, and after a restart', async () => {
    await run(['delete', 'ipp', '--all']);
    await run(['delete', '-f', crd]);
    await eventually(async () => {
      expect(await stack.metric('tunnel_operator_crd_missing', { kind: 'IPPolicy' })).toBe(1);
    });
    await apply(credential('two'));
    await ready('tcred/two');
    expect(taken().warnings).toEqual(saidOnce);
    await stack.restart(undefined, settings);
    await apply(credential('three'));
    await ready('tcred/three');
    expect(taken().warnings).toEqual(saidOnce);
    await run(['apply', '--server-side', '-f', crd]);
    await run(['wait', '--for=condition=Established', '-f', crd]);
    await apply(policy('two'));
    await ready('ipp/two');
    await run(['delete', 'ipp,tcred', '--all']);
    expect(await stack.remoteIds()).toEqual([]);
  });

  test('not if it comes while the operator stops', async () => {
    const held: (() => void)[] = [];
    const api = await answering((response, asked) => {
      const missing = apiError('NOT_FOUND', 404);
      if (asked.line.endsWith('/whoami')) missing(response, asked);
      else held.push(() => missing(response, asked));
    });
    const operator = await stack.restart(() => run(['delete', '-f', crd]), { ...settings, apiUrl: api.url });
    await apply(credential('held'));
    await eventually(async () => expect(held.length).toBeGreaterThan(0));
    taken();
    expect(await stack.metric('tunnel_operator_crd_missing')).toBe(1);
    const stopped = stack.stopOperator(operator);
    await run(['apply', '--server-side', '-f', crd]);
    await eventually(async () => {
      const metrics = await (await fetch(`${operator.healthUrl}/metrics`)).text();
      expect(metrics).toMatch(/^tunnel_operator_crd_missing\{kind="IPPolicy"\} 0$/m);
    });
    for (const release of held) release();
    await stopped;
    expect(taken().begun).toEqual([]);
    await run(['patch', 'tcred', 'held', '--type=merge', '--patch={"metadata":{"finalizers":null}}']);
    await run(['delete', 'tcred', 'held']);
  });
});
