/** Writes the files that are generated from the definitions; with `--check`, only says which are out of date. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { conformancePage } from '../dev/conformance/page.ts';
import { permissionsPage } from '../dev/conformance/permissions.ts';
import { openApiDocument } from '../src/api/openapi/document.ts';
import { crdFileName, crdYaml } from '../src/operator/crds/crd.ts';
import { kinds } from '../src/operator/kinds/kinds.ts';
import { clusterRole } from './cluster-role.ts';
import { kindsTable, withSection } from './kinds-table.ts';

interface Generated {
  /** Path from the root of the repository. */
  file: string;
  content(): string | Promise<string>;
}

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFile(join(root, file), 'utf8');

const GENERATED: readonly Generated[] = [
  { file: 'docs/openapi.json', content: () => `${JSON.stringify(openApiDocument(), null, 2)}\n` },
  { file: 'docs/conformance.md', content: conformancePage },
  { file: 'docs/permissions.md', content: permissionsPage },
  {
    file: 'docs/operator.md',
    content: async () => withSection(await read('docs/operator.md'), 'kinds', kindsTable(kinds)),
  },
  { file: 'charts/tunnel-operator/files/cluster-role.yaml', content: () => clusterRole(kinds) },
  ...kinds.map((kind) => ({ file: `crds/${crdFileName(kind)}`, content: () => crdYaml(kind) })),
];

const check = process.argv.includes('--check');
const stale: string[] = [];

for (const { file, content } of GENERATED) {
  const path = join(root, file);
  const wanted = await content();
  const found = await read(file).catch(() => undefined);
  if (found === wanted) continue;
  stale.push(file);
  if (check) continue;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, wanted);
}

if (check && stale.length > 0) {
  process.stderr.write(`out of date: ${stale.join(', ')}; run "npm run generate"\n`);
  process.exitCode = 1;
} else {
  process.stdout.write(stale.length > 0 ? `wrote ${stale.join(', ')}\n` : 'generated files are up to date\n');
}
