/** What changes at the API, as members of the spec. Pure. */
import { z } from 'zod';
import { REASON } from '../contract/reasons.ts';
import { declarationOf, sourcesIn } from '../export/declaration.ts';
import { type DerivedKind, isAttached, ownMembers, type SpecMember, specMembers } from '../export/spec-members.ts';
import { Blocked, type Remote } from '../managed/declaration/external.ts';
import { inputsOf, isSource, Reference, replaceInputs } from '../managed/declaration/input.ts';
import { type ManagedSpec, managedSpec } from '../managed/declaration/spec.ts';
import type { ObjectName } from './declared-objects.ts';
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

/** Rejects unknown members, as the API server does. @throws Blocked */
export function requireKnownMembers(kind: DerivedKind, spec: unknown): void {
  const known = new Set([...ownMembers(kind).map(([name]) => name), ...Object.keys(managedSpec)]);
  const unknown = Object.keys(record.parse(spec)).filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new Blocked(REASON.rejected, unknown.map((name) => `spec.${name}: unknown field`).join('; '));
}

export function changesOf(kind: DerivedKind, change: SpecChange): PlannedChange[] {
  const schemas = new Map(ownMembers(kind));
  const [before, after, secret] = [observed(kind, change), shown(change), secretPaths(kind, change)];
  const isSecret = (path: string) => secret.some((each) => isWithin(path, each) || isWithin(each, path));
  const compared = new Set(change.members.map((name) => comparedPath(kind, name)));
  return [...compared].flatMap((name): PlannedChange[] => {
    const path = `spec.${name}`;
    const [member = '', ...settings] = name.split('.');
    const schema = schemas.get(member);
    // Derived from another member, such as the name of a Secret.
    if (!schema) return [{ path, isSecret: true }];
    const [listKey] = z.array(z.string()).catch([]).parse(schema.meta()?.['x-list-map-keys']);
    const listKeys = listKey === undefined ? {} : { [path]: listKey };
    const [old, now] = [before.get(member), after.get(member)].map((value) => valueIn(value, settings));
    return differences(path, old, now, listKeys).map((each) =>
      isSecret(each.path) ? { path: each.path, isSecret: true } : each,
    );
  });
}

/** Modules are compared setting by setting, every other member as a whole. */
function comparedPath(kind: DerivedKind, name: string): string {
  return isAttached(kind) ? name : name.replace(/\..*$/, '');
}

const valueIn = (value: unknown, path: readonly string[]) =>
  path.reduce((within: unknown, name) => new Map(Object.entries(within ?? {})).get(name), value);

/** Whether the path equals the other or lies within it, in any spelling of the members. */
function isWithin(path: string, whole: string): boolean {
  const [one, other] = [plain(path), plain(whole)];
  return one === other || one.startsWith(`${other}.`) || one.startsWith(`${other}[`);
}

/** `spec.headers["X-Auth"]` and `spec.headers.x-auth` are the same: the API may show keys in lower case. */
const plain = (path: string) => path.replace(/\["([^"]*)"\]/g, '.$1').toLowerCase();

function secretPaths(kind: DerivedKind, { declared, secretBefore }: SpecChange): string[] {
  const sources = inputsOf(declared).filter(isSource);
  const fromSecrets = sources.filter(({ input }) => input.kind === 'Secret').map(({ path }) => path);
  const members = specMembers(kind, { id: '', uri: '' });
  return [...fromSecrets, ...secretBefore, ...members.flatMap((member) => secretsIn(member, `spec.${member.name}`))];
}

/** In a secret with members, those that take a source are secret. */
function secretsIn({ schema, isSecret, settings }: SpecMember, path: string): string[] {
  if (settings) return settings.flatMap((each) => secretsIn(each, `${path}.${each.name}`));
  if (!isSecret) return [];
  const sources = sourcesIn(schema, path);
  return sources.length > 0 ? sources : [path];
}

/** The spec with texts, and with the names of objects where it refers to them. */
function shown({ namespace, declared, texts }: SpecChange): Map<string, unknown> {
  const replaced = replaceInputs(declared, (input, path) =>
    input instanceof Reference ? nameFrom(namespace, input) : texts.get(path),
  );
  return new Map(Object.entries(replaced));
}

/** The same for the existing resource. */
function observed(kind: DerivedKind, { namespace, remote, targets }: SpecChange): Map<string, unknown> {
  if (!remote) return new Map();
  const members = specMembers(kind, remote);
  const { spec } = declarationOf(members, { secretName: undefined, objectOf: () => undefined });
  const named = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(named);
    const target = typeof value === 'string' ? targets.get(value) : undefined;
    return target ? nameFrom(namespace, target) : value;
  };
  const withNames = ({ refersTo, settings = [] }: SpecMember, value: unknown): unknown => {
    if (settings.length === 0) return refersTo === 'nothing' ? value : named(value);
    const each = settings.map((setting) => [setting.name, withNames(setting, valueIn(value, [setting.name]))] as const);
    return value && Object.fromEntries(each.filter(([, shown]) => shown !== undefined));
  };
  return new Map(
    members.map((member) => {
      const parsed = replaceInputs(member.schema.safeParse(spec[member.name]).data, () => undefined);
      return [member.name, withNames(member, parsed)];
    }),
  );
}

/** With the namespace if it is another one. */
function nameFrom(own: string, { kind, namespace, name }: Pick<Reference, 'kind' | 'namespace' | 'name'>): string {
  return namespace === undefined || namespace === own ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}
