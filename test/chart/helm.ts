/** Runs helm, and renders the chart of this checkout. Only for test files. */
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { ensureBinaries } from '../../dev/control-plane/binaries.ts';
import { HELM_VERSION } from '../../dev/control-plane/versions.ts';
import type { CommandResult } from '../harness.ts';

export const CHART = join(import.meta.dirname, '../../charts/tunnel-operator');

/** The minimal values of the chart. */
export const DATABASE = { database: { url: 'postgres://user:secret@database.example.com/tunnels' } };

const rendered = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    annotations: z.record(z.string(), z.string()).default({}),
    labels: z.record(z.string(), z.string()).default({}),
  }),
});
export type Rendered = z.output<typeof rendered>;

/** For tests of what only Helm 4 can do. */
export const LACKS_SERVER_SIDE_APPLY = HELM_VERSION.startsWith('3.') ? 'Helm 3 applies in the client' : undefined;

const { helm: program } = await ensureBinaries(['helm']);

/** Keeps the user's own helm settings, plugins and caches out of the tests. */
const home = await mkdtemp(join(tmpdir(), 'tunnel-operator-helm-'));
const env = { PATH: process.env.PATH, HOME: home, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };

/** Does not throw on failure: look at `code`. @param values go to its standard input, for `--values -` */
export function helm(args: readonly string[], values?: object): Promise<CommandResult> {
  return new Promise((resolve) => {
    const all = values === undefined ? args : [...args, '--values', '-'];
    const child = execFile(program, all, { env, maxBuffer: 64 * 1024 ** 2 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
    child.stdin?.end(values === undefined ? '' : JSON.stringify(values));
  });
}

/** The manifests that an installation would apply, hooks included. */
export async function render(
  values: object,
  {
    name = 'it',
    namespace = 'tunnels',
    only = [],
  }: { name?: string; namespace?: string; only?: readonly string[] } = {},
): Promise<Rendered[]> {
  const shown = only.flatMap((template) => ['--show-only', `templates/${template}`]);
  const { code, stdout, stderr } = await helm(['template', name, CHART, '--namespace', namespace, ...shown], values);
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout)
    .map((document) => {
      // A duplicate key, which helm accepts.
      if (document.errors[0]) throw document.errors[0];
      return document.toJS();
    })
    .filter((object) => object !== null)
    .map((object) => rendered.parse(object));
}

export const named = (objects: readonly Rendered[], kind: string) => objects.filter((object) => object.kind === kind);
