/** The commands of docs/install.md and the pages below it, to be run as they stand there. Only for test files. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { ensureBinaries } from '../../dev/control-plane/binaries.ts';
import type { ControlPlane } from '../../dev/control-plane/control-plane-handle.ts';
import type { CommandResult } from '../harness.ts';
import { CHART } from './helm.ts';

const DOCS = join(import.meta.dirname, '../../docs');
/** In the order in which somebody would follow them. */
const PAGES = ['install.md', 'install/shards.md', 'install/upgrade.md'];

/** Commands that no test of the page runs, and why. Any other is run. */
export const NEEDS_MORE: Readonly<Record<string, string>> = {
  'docker build --tag registry.example.com/tunnel-operator:0.1.0 --build-arg VERSION=0.1.0 .':
    'needs docker: npm run e2e:kind builds the image',
  'docker push registry.example.com/tunnel-operator:0.1.0': 'needs docker and a registry',
};

export interface InstallPage {
  /** In the order of the pages, each in one line. */
  commands: readonly string[];
  /** Names of this release in docs/operations.md. */
  namedInOperations: ReadonlySet<string>;
  /** What the Prometheus operator brings: CustomResourceDefinitions that take everything. */
  monitoringKinds: object;
  /** Runs it in a shell on the control plane. A failure is a result too. */
  run(command: string): Promise<CommandResult>;
}

/** @param folder the page's commands run in a folder of their own below it */
export async function installPage(own: ControlPlane, folder: string): Promise<InstallPage> {
  const pages = await Promise.all(PAGES.map((page) => readFile(join(DOCS, page), 'utf8')));
  const blocks = [...pages.join('\n').matchAll(/^```(\w*)\n(.*?)^```/gms)];
  const home = join(folder, 'install-page');
  await mkdir(home);
  const { helm } = await ensureBinaries(['helm']);
  await symlink(helm, join(home, 'helm'));
  await symlink(own.kubectlPath, join(home, 'kubectl'));
  await mkdir(join(home, 'charts'));
  await symlink(CHART, join(home, 'charts/tunnel-operator'));
  const commands: string[] = [];
  for (const [, language, text = ''] of blocks) {
    const [, file] = /^# (\S+\.yaml)\n/.exec(text) ?? [];
    if (language === 'sh')
      commands.push(
        ...text
          .trim()
          .replaceAll(/ *\\\n */g, ' ')
          .split('\n')
          .map(withoutComment),
      );
    else if (language === 'yaml' && file) await writeFile(join(home, file), text);
    else throw new Error(`nothing runs this block of the installation pages:\n${text}`);
  }
  const operations = await readFile(join(DOCS, 'operations.md'), 'utf8');
  const env = { HOME: home, PATH: [home, process.env.PATH].join(delimiter), KUBECONFIG: own.kubeconfigPath };
  return {
    commands,
    namedInOperations: new Set(operations.match(/tunnels-tunnel-operator[\w-]*/g)),
    monitoringKinds: { apiVersion: 'v1', kind: 'List', items: ['ServiceMonitor', 'PrometheusRule'].map(crd) },
    run: (command) =>
      new Promise((resolve) => {
        // Without nodes, no Pod is ever ready.
        const here = command.replace(/ --wait\b/, '');
        execFile('bash', ['-c', here], { cwd: home, env }, (error, stdout, stderr) => {
          resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr: withoutEndOfWatch(stderr) });
        });
      }),
  };
}

/** Helm's client library may say that a watch ended when helm ends it, having seen that a hook is there. */
const withoutEndOfWatch = (stderr: string) => stderr.replace(/^I\d{4} .*watch ended with error.*\n/gm, '');

const withoutComment = (line: string) => line.replace(/\s+#.*/, '');

function crd(kind: string): object {
  const names = { kind, singular: kind.toLowerCase(), plural: `${kind.toLowerCase()}s` };
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    // A label that other projects use, too.
    metadata: { name: `${names.plural}.monitoring.coreos.com`, labels: { 'app.kubernetes.io/component': 'crds' } },
    spec: {
      group: 'monitoring.coreos.com',
      scope: 'Namespaced',
      names,
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
}
