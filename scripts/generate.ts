/** Writes the files generated from the definitions; with `--check`, only reports which are out of date. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PURPOSE, ROOMS } from '../dev/architecture.ts';
import { roomsSection } from '../dev/architecture-page.ts';
import { readValues, valuesSchema, valuesTable } from '../dev/chart/values.ts';
import { PERMISSIONS } from '../dev/conformance/permissions.ts';
import { SECTIONS } from '../dev/conformance/sections.ts';
import { codeBlock, withSection } from '../dev/generated-section.ts';
import { json } from '../dev/layout.ts';
import { allMetrics, metricsTable } from '../dev/metrics-page.ts';
import { kindPage, kindPageFile, screensOf } from '../dev/screens/kind-page.ts';
import { openApiDocument } from '../src/api/openapi/document.ts';
import { apiSettings } from '../src/api/settings.ts';
import { workerSettings } from '../src/api/worker-settings.ts';
import { apiConnectionKind } from '../src/operator/connections/connection-kinds.ts';
import { crdFileName, crdYaml } from '../src/operator/crds/crd.ts';
import { customResources } from '../src/operator/crds/custom-resources.ts';
import { allKinds, attachedKinds, kinds } from '../src/operator/kinds/kinds.ts';
import { operatorSettings } from '../src/operator/settings.ts';
import { FAMILIES } from '../src/resources/families.ts';
import { logSettings } from '../src/settings/log.ts';
import { tracingSettings } from '../src/tracing/settings.ts';
import { clusterRole, clusterScopedRole, editRole, leaseRole, uninstallRole, viewRole } from './cluster-role.ts';
import { conformancePages } from './conformance-pages.ts';
import { crdTemplate } from './crd-template.ts';
import { familiesTable } from './families-table.ts';
import { kindsTable } from './kinds-table.ts';
import { kustomization } from './kustomization.ts';
import { licencesTable } from './licences-table.ts';
import { defaultsTable, hiddenTable, normalisedTable, renamedTable } from './normalisation-page.ts';
import { permissionsPage } from './permissions-page.ts';
import { settingsTable } from './settings-page.ts';
import { eventsSection, reasonsSection } from './troubleshooting/page.ts';

const CHART = 'charts/tunnel-operator';

/** Everything in these folders is generated: files that are no longer generated are removed. */
const FOLDERS = ['crds', 'docs/conformance', 'docs/kinds', `${CHART}/templates/crds`];

const root = join(import.meta.dirname, '..');
const document = openApiDocument();
const read = (file: string) => readFile(join(root, file), 'utf8');
const values = readValues(await read(`${CHART}/values.yaml`));

/** The page with its generated sections regenerated. */
async function page(file: string, sections: Readonly<Record<string, string>>): Promise<readonly [string, string]> {
  const before = await read(file);
  return [file, Object.entries(sections).reduce((text, [name, section]) => withSection(text, name, section), before)];
}

/** The files by their paths relative to the root of the repository. */
const wanted = new Map<string, string>([
  // Committed so that a pull request shows what it changes in the API, with one line for each thing that may
  // change.
  ['docs/openapi.json', json(document, 120)],
  ['docs/permissions.md', permissionsPage(PERMISSIONS, document)],
  await page('docs/api.md', { families: familiesTable(FAMILIES) }),
  await page('docs/architecture.md', { rooms: roomsSection(ROOMS, PURPOSE) }),
  await page('docs/normalisation.md', {
    normalised: normalisedTable(),
    defaults: defaultsTable(),
    renamed: renamedTable(),
    hidden: hiddenTable(),
  }),
  await page('docs/operator.md', { kinds: kindsTable(kinds, attachedKinds) }),
  await page('docs/troubleshooting.md', { reasons: reasonsSection(), events: eventsSection() }),
  await page('docs/metrics.md', metricsTables()),
  await page('docs/settings.md', {
    api: settingsTable(apiSettings),
    worker: settingsTable(workerSettings),
    operator: settingsTable(operatorSettings),
    log: settingsTable(logSettings),
    tracing: settingsTable(tracingSettings),
  }),
  await page('docs/licences.md', { licences: licencesTable(JSON.parse(await read('package-lock.json'))) }),
  ['crds/kustomization.yaml', kustomization(customResources)],
  [`${CHART}/files/kinds.txt`, customResources.map(({ kind }) => `${kind}\n`).join('')],
  await page('docs/operator/gitops.md', { health: codeBlock('lua', await read(`${CHART}/files/argocd-health.lua`)) }),
  [`${CHART}/files/cluster-role.yaml`, clusterRole(allKinds, [apiConnectionKind])],
  [`${CHART}/files/cluster-scoped-role.yaml`, clusterScopedRole(customResources)],
  [`${CHART}/files/lease-role.yaml`, leaseRole()],
  [`${CHART}/files/edit-role.yaml`, editRole(customResources)],
  [`${CHART}/files/view-role.yaml`, viewRole(customResources)],
  [`${CHART}/files/uninstall-role.yaml`, uninstallRole(customResources)],
  [`${CHART}/values.schema.json`, json(valuesSchema(values), 120)],
  await page(`${CHART}/README.md`, { values: valuesTable(values) }),
  ...conformancePages(SECTIONS).map(({ file, text }) => [`docs/conformance/${file}`, text] as const),
  ...(await Promise.all(
    allKinds.map(async (kind) => {
      const file = kindPageFile(kind.kind);
      return [file, kindPage(kind, screensOf(await read(file).catch(() => '')))] as const;
    }),
  )),
  ...customResources.flatMap((kind) => [
    [`crds/${crdFileName(kind)}`, crdYaml(kind)] as const,
    [`${CHART}/templates/crds/${kind.plural}.yaml`, crdTemplate(crdYaml(kind))] as const,
  ]),
]);

function metricsTables(): Record<string, string> {
  const { process: ofProcess, ...programs } = allMetrics();
  // On other systems, prom-client has fewer metrics of a process.
  const tables = process.platform === 'linux' ? { ...programs, process: ofProcess } : programs;
  return Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, metricsTable(table)]));
}

const check = process.argv.includes('--check');

const stale: string[] = [];
for (const [file, text] of wanted) {
  const found = await read(file).catch(() => undefined);
  if (found !== text) stale.push(file);
}

const left: string[] = [];
for (const folder of FOLDERS) {
  const found = await readdir(join(root, folder)).catch(() => []);
  left.push(...found.map((name) => `${folder}/${name}`).filter((file) => !wanted.has(file)));
}

if (stale.length + left.length === 0) {
  process.stdout.write('generated files are up to date\n');
} else if (check) {
  const problems = [
    ...stale.map((file) => `  ${file} is out of date\n`),
    ...left.map((file) => `  ${file} is no longer generated\n`),
  ];
  process.stderr.write(`Run "npm run generate":\n${problems.join('')}`);
  process.exitCode = 1;
} else {
  for (const file of stale) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), wanted.get(file) ?? '');
  }
  for (const file of left) await rm(join(root, file), { recursive: true });
  const done = [...stale.map((file) => `wrote ${file}\n`), ...left.map((file) => `removed ${file}\n`)];
  process.stdout.write(done.join(''));
}
