/** What changes at the API, as members of the spec. Pure. */
import { z } from 'zod';
import { declarationOf } from '../export/declaration.ts';
import { ownMembers, specMembers } from '../export/spec-members.ts';
import type { AnyPlainKind } from '../kinds/plain-kind.ts';
import { Blocked, type Remote } from '../managed/external.ts';
import { inputsOf, isSource, Reference, replaceInputs } from '../managed/inputs/input.ts';
import { type ManagedSpec, managedSpec } from '../managed/spec.ts';
import type { ObjectName } from './desired-cluster.ts';
import { differences } from './differences.ts';
import type { PlannedChange } from './planned.ts';

export interface SpecChange {
  /** That of the object. */
  readonly namespace: string;
  /** The spec as the file has it. */
  readonly declared: ManagedSpec;
  /** What its sources hold, by their paths. */
  readonly texts: ReadonlyMap<string, string>;
  /** The objects that it refers to, by the ids of their resources. */
  readonly targets: ReadonlyMap<string, ObjectName>;
  /** Undefined if there is none yet. */
  readonly remote: Remote | undefined;
  /** The members that differ. */
  readonly members: readonly string[];
  /** Paths that were taken from Secrets until now. */
  readonly secretBefore: readonly string[];
}

const record = z.record(z.string(), z.unknown()).catch({});

/** The API server refuses other members, too. @throws Blocked */
export function mustKnowMembers(kind: AnyPlainKind, spec: unknown): void {
  const known = new Set([...ownMembers(kind).map(([name]) => name), ...Object.keys(managedSpec)]);
  const unknown = Object.keys(record.parse(spec)).filter((name) => !known.has(name));
  if (unknown.length > 0) throw new Blocked('', unknown.map((name) => `spec.${name}: unknown field`).join('; '));
}

export function changesOf(kind: AnyPlainKind, change: SpecChange): PlannedChange[] {
  const schemas = new Map(ownMembers(kind));
  const [before, after, secret] = [observed(kind, change), shown(change), secretPaths(kind, change)];
  const isSecret = (path: string) => secret.some((each) => isWithin(path, each) || isWithin(each, path));
  // Of settings within a member, the member is compared.
  const members = new Set(change.members.map((name) => name.replace(/\..*$/, '')));
  return [...members].flatMap((name): PlannedChange[] => {
    const path = `spec.${name}`;
    const schema = schemas.get(name);
    // Made of another member, such as the name of a Secret.
    if (!schema) return [{ path, isSecret: true }];
    const [listKey] = z.array(z.string()).catch([]).parse(schema.meta()?.['x-list-map-keys']);
    const listKeys = listKey === undefined ? {} : { [path]: listKey };
    return differences(path, before.get(name), after.get(name), listKeys).map((each) =>
      isSecret(each.path) ? { path: each.path, isSecret: true } : each,
    );
  });
}

/** Whether the path is the other one or leads to something in it, however its members are written. */
function isWithin(path: string, whole: string): boolean {
  const [one, other] = [plain(path), plain(whole)];
  return one === other || one.startsWith(`${other}.`) || one.startsWith(`${other}[`);
}

/** `spec.headers["X-Auth"]` and `spec.headers.x-auth` are the same: the API may show keys in lower case. */
const plain = (path: string) => path.replace(/\["([^"]*)"\]/g, '.$1').toLowerCase();

function secretPaths(kind: AnyPlainKind, { declared, secretBefore }: SpecChange): string[] {
  const sources = inputsOf(declared).filter(isSource);
  const fromSecrets = sources.filter(({ input }) => input.kind === 'Secret').map(({ path }) => path);
  const fields = specMembers(kind, { id: '', uri: '' }).filter(({ isSecret }) => isSecret);
  return [...fromSecrets, ...secretBefore, ...fields.map(({ name }) => `spec.${name}`)];
}

/** The spec with texts, and with the names of objects where it refers to them. */
function shown({ namespace, declared, texts }: SpecChange): Map<string, unknown> {
  const replaced = replaceInputs(declared, (input, path) =>
    input instanceof Reference ? nameFrom(namespace, input) : texts.get(path),
  );
  return new Map(Object.entries(replaced));
}

/** The same of the resource as it is. */
function observed(kind: AnyPlainKind, { namespace, remote, targets }: SpecChange): Map<string, unknown> {
  if (!remote) return new Map();
  const members = specMembers(kind, remote);
  const { spec } = declarationOf(members, { secretName: 'hidden', objectOf: () => undefined });
  const named = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(named);
    const target = typeof value === 'string' ? targets.get(value) : undefined;
    return target ? nameFrom(namespace, target) : value;
  };
  return new Map(
    members.map(({ name, schema, refersTo }) => {
      const parsed = replaceInputs(schema.safeParse(spec[name]).data, () => undefined);
      return [name, refersTo === 'nothing' ? parsed : named(parsed)];
    }),
  );
}

/** With the namespace if it is another one. */
function nameFrom(own: string, { kind, namespace, name }: Pick<Reference, 'kind' | 'namespace' | 'name'>): string {
  return namespace === undefined || namespace === own ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}
