/** The documents of manifest files, as `kubectl apply -f` takes them. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  type CollectionTag,
  type Document,
  type DocumentOptions,
  type ParseOptions,
  parseAllDocuments,
  type ScalarTag,
  type SchemaOptions,
} from 'yaml';
import { z } from 'zod';
import { codeOf, messageOf } from '../../errors.ts';
import { CannotStart } from '../../settings/cannot-start.ts';
import { MAY_BE_NUMBER, yamlNumber } from '../contract/yaml-number.ts';

const document = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string().min(1),
    namespace: z.string().nullish(),
    annotations: z.record(z.string(), z.string()).nullish(),
    labels: z.record(z.string(), z.string()).nullish(),
  }),
});
export type ManifestDocument = z.output<typeof document>;

export interface Manifest {
  readonly document: ManifestDocument;
  /** Where it is, for people: `app.yaml, document 2`. */
  readonly place: string;
}

const list = z.looseObject({ kind: z.string().endsWith('List'), items: z.array(z.unknown()) });

/** Takes precedence over the tags of YAML 1.1, which define numbers differently. */
const number: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  test: MAY_BE_NUMBER,
  resolve: (text) => yamlNumber(text) ?? text,
};

/** YAML as kubectl reads it: version 1.1, with `no`, 0777 and `<<`, except that 2030-01-01 and 12:30 are strings. */
const AS_KUBECTL: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.1',
  customTags: (tags) => [number, ...tags.filter((tag) => typeof tag === 'string' || !readsTime(tag))],
};

const readsTime = ({ tag, format }: ScalarTag | CollectionTag) =>
  tag === 'tag:yaml.org,2002:timestamp' || format === 'TIME';

const EXTENSION = /\.(?:ya?ml|json)$/;

/** @param paths files, folders (what is right in them), or `-` for standard input @throws CannotStart naming the file */
export async function readManifests(paths: readonly string[]): Promise<Manifest[]> {
  const found: Manifest[] = [];
  for (const path of paths) for (const file of await filesAt(path)) found.push(...(await documentsIn(file)));
  return found;
}

async function filesAt(path: string): Promise<string[]> {
  if (path === '-') return [path];
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = await readdir(path);
    return names
      .filter((name) => EXTENSION.test(name))
      .sort()
      .map((name) => join(path, name));
  } catch (error) {
    throw cannotRead(path, error);
  }
}

async function documentsIn(file: string): Promise<Manifest[]> {
  const content = await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')).catch((error: unknown) => {
    throw cannotRead(file, error);
  });
  return parseAllDocuments(content, AS_KUBECTL).flatMap((parsed, index) => {
    const [problem] = parsed.errors;
    if (problem) throw new CannotStart(`${file}: ${problem.message.split('\n')[0]}`);
    const where = `${file}, document ${index + 1}`;
    return flattened(contentOf(parsed, where), where);
  });
}

/** Resolves aliases and merge keys. */
function contentOf(parsed: Pick<Document.Parsed, 'toJS'>, where: string): unknown {
  try {
    const content: unknown = parsed.toJS();
    // Throws for an alias inside its own anchor; kubectl refuses it as well.
    JSON.stringify(content);
    return content;
  } catch (error) {
    const [reason] = messageOf(error).split('\n');
    throw new CannotStart(`${where}: ${reason}`, { cause: error });
  }
}

/** Returns the items of a List, and nothing for an empty document. */
function flattened(value: unknown, where: string): Manifest[] {
  if (value === null || value === undefined) return [];
  const items = list.safeParse(value).data?.items;
  if (items) return items.flatMap((item, index) => flattened(item, `${where}, item ${index + 1}`));
  const read = document.safeParse(value);
  if (read.success) return [{ document: read.data, place: where }];
  const [issue] = read.error.issues;
  const paths = issue && issue.path.length > 0 ? [issue.path.join('.')] : [];
  throw new CannotStart([`${where} is no Kubernetes object`, ...paths, issue?.message].join(': '));
}

function cannotRead(path: string, error: unknown): CannotStart {
  const reason = codeOf(error) === 'ENOENT' ? 'does not exist' : `cannot be read (${codeOf(error) ?? String(error)})`;
  return new CannotStart(`${path} ${reason}`, { cause: error });
}
