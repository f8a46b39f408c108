/**
 * A release of the chart on a control plane without nodes: programs that would run in Pods run here, with the tokens of
 * the chart's service accounts.
 */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import type { ControlPlane } from '../../dev/control-plane/control-plane-handle.ts';
import type { OperatorConfig } from '../../src/operator/settings.ts';
import { eventually, type RunningOperator, type Stack } from '../e2e/stack.ts';
import type { CommandResult } from '../harness.ts';
import { kubectlOn } from '../kubectl.ts';
import { CHART, helm, type Rendered } from './helm.ts';

type Command = 'install' | 'upgrade' | 'rollback' | 'uninstall';
type Run<T> = (command: Command, args: string[], values?: object, namespace?: string) => Promise<T>;

export interface Release {
  /** A command of helm. Does not throw on failure: look at `code`. */
  tryRelease: Run<CommandResult>;
  release: Run<void>;
  /** Does not throw on failure: look at `code`. */
  tryKubectl(args: string[], input?: string): Promise<CommandResult>;
  kubectl(args: string[], input?: string): Promise<string>;
  /** Starts the operator as its Deployment would. */
  operate(stack: Stack, settings?: Partial<OperatorConfig>): Promise<RunningOperator>;
  /** Creates the objects of a hook except its Pod, and runs the script of that Pod. */
  runHook(objects: Rendered[], script: string, env: NodeJS.ProcessEnv): Promise<CommandResult>;
}

/** @param folder for kubeconfigs and tokens */
export function releaseOn(
  own: ControlPlane,
  { name, namespace, folder }: { name: string; namespace: string; folder: string },
): Release {
  const tryKubectl = (args: string[], input?: string) => kubectlOn(own, args, input === undefined ? {} : { input });

  async function kubectl(args: string[], input?: string): Promise<string> {
    const result = await tryKubectl(args, input);
    expect(result, args.join(' ')).toMatchObject({ code: 0 });
    return result.stdout;
  }

  /** A kubeconfig for a service account of the namespace, and the account's folder as mounted into a Pod. */
  async function speakFor(account: string): Promise<{ kubeconfig: string; mounted: string }> {
    const token = await kubectl(['-n', namespace, 'create', 'token', account]);
    const config = parse(await readFile(own.kubeconfigPath, 'utf8'));
    const mounted = join(folder, namespace, account);
    const kubeconfig = `${mounted}.kubeconfig`;
    await mkdir(mounted, { recursive: true });
    await writeFile(
      kubeconfig,
      JSON.stringify({ ...config, users: [{ name: config.users[0].name, user: { token } }] }),
    );
    await writeFile(join(mounted, 'token'), token);
    const ca = Buffer.from(config.clusters[0].cluster['certificate-authority-data'], 'base64');
    await writeFile(join(mounted, 'ca.crt'), ca);
    return { kubeconfig, mounted };
  }

  async function operate(stack: Stack, settings: Partial<OperatorConfig> = {}): Promise<RunningOperator> {
    const { kubeconfig } = await speakFor(`${name}-tunnel-operator-operator`);
    // The API server learns of new bindings through a watch; until then, it would refuse the operator.
    await eventually(async () => {
      const asked = ['auth', 'can-i', 'list', 'ippolicies.tunnel-operator.dev', '--all-namespaces'];
      expect(await tryKubectl([...asked, '--kubeconfig', kubeconfig])).toMatchObject({ code: 0 });
    });
    const given = { kubeconfig, namespaces: undefined, leaseNamespace: namespace, leaderElect: true };
    return stack.operate({ ...given, ...settings });
  }

  async function runHook(objects: Rendered[], script: string, env: NodeJS.ProcessEnv): Promise<CommandResult> {
    const before = objects.filter(({ kind }) => !['Pod', 'Job'].includes(kind));
    await kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: before }));
    const account = before.find(({ kind }) => kind === 'ServiceAccount')?.metadata.name ?? '';
    const { mounted } = await speakFor(account);
    const { hostname, port } = new URL(own.server);
    const inPod = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port, ACCOUNT_FOLDER: mounted };
    return new Promise((resolve) => {
      const options = { env: { ...inPod, ...env } };
      execFile(process.execPath, [join(CHART, 'files/scripts', script)], options, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      });
    });
  }

  const tryRelease: Run<CommandResult> = (command, args, values, where = namespace) => {
    const on = ['--kubeconfig', own.kubeconfigPath, '--namespace', where];
    return helm([command, name, ...args, ...on, ...(command === 'install' ? ['--create-namespace'] : [])], values);
  };
  const release: Run<void> = async (command, ...rest) => {
    expect(await tryRelease(command, ...rest), command).toMatchObject({ code: 0 });
  };

  return { tryKubectl, kubectl, operate, runHook, tryRelease, release };
}
