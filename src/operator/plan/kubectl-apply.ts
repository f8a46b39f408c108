/**
 * What `kubectl apply` makes of an object: it sets the members of the file, removes those that it applied before and that
 * have left the file, and keeps those set by others. Pure. https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/
 */
import { z } from 'zod';
import { annotation, type KubeObject, LAST_APPLIED } from '../kube/kube-object.ts';

type Members = Readonly<Record<string, unknown>>;

/** What was applied before. */
export interface Applied {
  /** By name; a list counts as a whole. */
  readonly members: Members;
  /** Members that have another owner as well, and so are not removed. */
  readonly owned: readonly Members[];
  /** The field manager of a server-side apply. */
  readonly manager: string | undefined;
}

export const NEVER_APPLIED: Applied = { members: {}, owned: [], manager: undefined };

const members = z.record(z.string(), z.unknown());

const managedFields = z
  .array(
    z.object({
      manager: z.string(),
      operation: z.string(),
      subresource: z.string().optional(),
      fieldsV1: members.optional(),
    }),
  )
  .catch([]);

/** The field manager of `kubectl apply --server-side`. */
export const KUBECTL = 'kubectl';

/** Read from the object itself: the annotation of kubectl, or the managed fields of the API server. */
export function appliedBefore(object: KubeObject): Applied {
  const text = annotation(object, LAST_APPLIED);
  if (text !== undefined) return { ...NEVER_APPLIED, members: membersIn(text) };
  const entries = managedFields.parse(object.metadata.managedFields);
  const appliers = entries.filter(({ operation, subresource }) => operation === 'Apply' && subresource === undefined);
  const applier = appliers.find(({ manager }) => manager === KUBECTL) ?? appliers[0];
  if (!applier) return NEVER_APPLIED;
  const others = entries.filter((entry) => entry !== applier);
  return {
    members: namesIn(applier.fieldsV1),
    owned: others.map(({ fieldsV1 }) => namesIn(fieldsV1)),
    manager: applier.manager,
  };
}

function membersIn(text: string): Members {
  try {
    return members.catch({}).parse(JSON.parse(text));
  } catch {
    return {};
  }
}

/** The members of a FieldsV1: `{"f:spec": {"f:rules": {}}}`. */
function namesIn(fields: unknown): Members {
  const named = Object.entries(members.catch({}).parse(fields)).filter(([name]) => name.startsWith('f:'));
  return Object.fromEntries(named.map(([name, within]) => [name.slice(2), namesIn(within)]));
}

/** The JSON merge patch (RFC 7386) to send. Like kubectl, treats null in a file as absent. */
export function applyPatch(file: object, { members: before, owned, manager }: Applied): Members {
  const given = Object.entries(file).filter(([, value]) => value !== null && value !== undefined);
  const set = given.map(([name, value]) => {
    const within = {
      members: withinOf(before, name),
      owned: owned.map((each) => withinOf(each, name)),
      manager,
    };
    return [name, isRecord(value) ? applyPatch(value, within) : value] as const;
  });
  const names = new Set(given.map(([name]) => name));
  const removed = Object.keys(before).filter(
    (name) => !names.has(name) && !owned.some((each) => Object.hasOwn(each, name)),
  );
  return Object.fromEntries([...set, ...removed.map((name) => [name, null] as const)]);
}

const withinOf = (all: Members, name: string): Members => {
  const value = new Map(Object.entries(all)).get(name);
  return isRecord(value) ? value : {};
};

/** The object with the patch applied. */
export function patched(target: unknown, patch: Members): Members {
  const all = new Map(Object.entries(isRecord(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) all.delete(name);
    else all.set(name, isRecord(value) ? patched(all.get(name), value) : value);
  }
  return Object.fromEntries(all);
}

const isRecord = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
