/** Runs the commands of docs/install.md and the pages below it as they stand there, on a control plane without nodes. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ensureBinaries } from '../../dev/control-plane/binaries.ts';
import { startControlPlane } from '../../dev/control-plane/control-plane.ts';
import type { ControlPlane } from '../../dev/control-plane/control-plane-handle.ts';
import type { CommandResult } from '../harness.ts';
import { NOT_OUR_CLUSTER, skipFor } from '../skip.ts';
import { CHART } from './helm.ts';
import { releaseOn } from './release.ts';

const DOCS = join(import.meta.dirname, '../../docs');
/** In the order in which a user would follow them. */
const PAGES = ['install.md', 'install/shards.md', 'install/upgrade.md'];

/** Commands that the test skips, and why. It runs all others. */
const NEEDS_MORE: Readonly<Record<string, string>> = {
  'docker build --tag registry.example.com/tunnel-operator:0.1.0 --build-arg VERSION=0.1.0 .':
    'needs docker: npm run e2e:kind builds the image',
  'docker push registry.example.com/tunnel-operator:0.1.0': 'needs docker and a registry',
  'kubectl --namespace default wait --for=condition=Ready tunnelcredential/first':
    'needs the operator, which runs in a Pod',
  "kubectl --namespace default get secret first --output=go-template='{{.data.token | base64decode}}'": 'the same',
};

interface InstallPage {
  /** In the order of the pages, each on one line. */
  commands: readonly string[];
  /** Names of this release in docs/operations.md, except the worker's, which the pages do not enable. */
  namedInOperations: ReadonlySet<string>;
  /** Stand-ins for the CustomResourceDefinitions of the Prometheus operator, which accept anything. */
  monitoringKinds: object;
  /** Runs it in a shell on the control plane. Does not throw on failure. */
  run(command: string): Promise<CommandResult>;
}

/** @param folder the page's commands run in a folder of their own below it */
async function installPage(own: ControlPlane, folder: string): Promise<InstallPage> {
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
    namedInOperations: new Set(operations.match(/tunnels-tunnel-operator(?!-worker)[\w-]*/g)),
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

/** Helm's client library may log an error when helm ends a watch because the hook has appeared. */
const withoutEndOfWatch = (stderr: string) => stderr.replace(/^I\d{4} .*watch ended with error.*\n/gm, '');

const withoutComment = (line: string) => line.replace(/\s+#.*/, '');

function crd(kind: string): object {
  const names = { kind, singular: kind.toLowerCase(), plural: `${kind.toLowerCase()}s` };
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    // Other projects use this label as well.
    metadata: { name: `${names.plural}.monitoring.coreos.com`, labels: { 'app.kubernetes.io/component': 'crds' } },
    spec: {
      group: 'monitoring.coreos.com',
      scope: 'Namespaced',
      names,
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
}

const NAMESPACE = 'tunnel-system';

const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-install-page-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the commands of docs/install.md', skipFor(NOT_OUR_CLUSTER), async () => {
  const own = await startControlPlane();
  afterAll(() => own.stop());
  const { kubectl } = releaseOn(own, { name: 'tunnels', namespace: NAMESPACE, folder });
  const page = await installPage(own, folder);

  const apply = (object: object) => kubectl(['-n', NAMESPACE, 'apply', '-f', '-'], JSON.stringify(object));
  const names = (kinds: string) => kubectl(['-n', NAMESPACE, 'get', kinds, '-o', 'name']);

  test('work in the order of the page', { timeout: 240_000 }, async () => {
    expect(page.commands).toEqual(expect.arrayContaining(Object.keys(NEEDS_MORE)));
    await kubectl(['apply', '-f', '-'], JSON.stringify(page.monitoringKinds));
    await kubectl(['create', 'namespace', NAMESPACE]);
    const labels = { 'app.kubernetes.io/instance': 'tunnels', 'app.kubernetes.io/name': 'other' };
    await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'of-another-chart', labels } });

    for (const command of page.commands.filter((each) => !(each in NEEDS_MORE))) {
      // Creates the Lease as the operator would; its Pod cannot run here.
      const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'tunnel-operator' } };
      if (command.startsWith('helm uninstall tunnels ')) await apply(lease);
      if (command.startsWith('left=')) {
        const left = { apiVersion: 'tunnel-operator.dev/v1alpha1', kind: 'IPPolicy', metadata: { name: 'left' } };
        await apply(left);
        expect(await page.run(command)).toMatchObject({ code: 1, stderr: '' });
        await kubectl(['-n', NAMESPACE, 'delete', 'ippolicy', 'left']);
      }
      if (!command.startsWith('helm test '))
        expect(await page.run(command), command).toMatchObject({ code: 0, stderr: '' });
      else
        for (const name of page.namedInOperations) expect(await names('deployments,secrets')).toContain(`/${name}\n`);
      // With the old Lease, the operator of another database would refuse its key.
      if (command.startsWith('helm upgrade --install '))
        expect(await names('leases')).not.toContain('/tunnel-operator\n');
    }

    const definitions = await kubectl(['get', 'crd', '-o', 'name']);
    expect(definitions).not.toContain('tunnel-operator');
    expect(definitions).toContain('servicemonitors.monitoring.coreos.com');
    const left = await names('secrets,leases');
    expect(left).toContain('secret/of-another-chart\n');
    expect(left).not.toMatch(/\/(tunnels-)?tunnel-operator$/m);
  });
});
