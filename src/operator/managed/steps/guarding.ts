/**
 * Keeps a resource from serving until it is guarded. A new resource without the modules that other objects declare for it
 * would serve everyone. A resource that already serves goes on.
 */
import { z } from 'zod';
import { REASON } from '../../contract/reasons.ts';
import { findCondition } from '../../kube/conditions.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { Finding, Remote } from '../declaration/external.ts';
import type { ManagedSpec } from '../declaration/spec.ts';
import { readStatus } from '../identity/recorded-status.ts';
import { specPaths } from '../object/findings.ts';
import type { ManagedObject } from '../object/managed-object.ts';

export interface Guarded {
  /** The part of the spec that may be set now. */
  spec: ManagedSpec;
  /** What the withheld members wait for; undefined if none are withheld. */
  waiting: Finding | undefined;
}

/**
 * @param remote undefined before it is created
 * @throws KubeError, KubeUnreachableError
 */
export async function guarded(managed: ManagedObject, spec: ManagedSpec, remote?: Remote): Promise<Guarded> {
  const members = managed.kind.declared.unserved?.(spec, remote) ?? [];
  const missing = members.length === 0 ? undefined : await missingModules(managed, spec, remote);
  if (missing === undefined) return { spec, waiting: undefined };
  const message = `${specPaths(members)} is set once the modules that protect it are there: ${missing}`;
  const others = Object.entries(spec).filter(([member]) => !members.includes(member));
  return {
    // Only optional members are ever left out.
    spec: Object.fromEntries(others) as typeof spec,
    waiting: { status: 'False', reason: REASON.waitingForModules, message },
  };
}

/** Undefined if it may serve. */
async function missingModules(managed: ManagedObject, spec: ManagedSpec, remote?: Remote): Promise<string | undefined> {
  const { object, kind } = managed;
  const present = withModules.safeParse(remote).data?.modules ?? [];
  const guards = () => kind.inputs.modulesDeclaredFor(kind.name, object);
  if (guards().length === 0) {
    if (requiring.safeParse(spec).success && present.length === 0) return NONE_DECLARED;
    // It is about to serve, so modules that become known later would come too late.
    const refusal = await catchUp(managed);
    if (refusal !== undefined) return `whether any are declared cannot be told: ${refusal}`;
  }
  const declared = guards();
  // If several objects declare modules of one resource, only one of them sets them.
  const isGuarded = declared.some(({ modules }) => modules.every((module) => present.includes(module)));
  if (declared.length === 0 || isGuarded) return undefined;
  const waitedFor = declared.map(({ referrer, modules }) => `${modules.join(' and ')} of ${referrer}`).join(', or ');
  return `${waitedFor}, whose condition Ready says what is missing`;
}

/** Why the operator may not know of all modules that are declared. */
async function catchUp(managed: ManagedObject): Promise<string | undefined> {
  const { object, kind } = managed;
  try {
    const gap = await kind.inputs.catchUpOnModules(kind.name, object);
    if (gap !== undefined) managed.retryRefused();
    return gap;
  } catch (error) {
    if (!(error instanceof KubeError && error.isForbidden)) throw error;
    managed.retryRefused();
    return error.message;
  }
}

const requiring = z.looseObject({ requireModules: z.literal(true) });

const NONE_DECLARED = 'spec.requireModules asks for some, and no object declares any: declare some, or remove it';

const withModules = z.object({ modules: z.array(z.string()) });

/** Whether the resource serves as its spec asks; false if the spec is invalid. */
export function isServing({ object, kind }: ManagedObject, remote: Remote | undefined): boolean {
  const spec = kind.specIfValid(object);
  return spec !== undefined && !kind.declared.unserved?.(spec, remote).length;
}

/** Whether the resource does not serve yet, according to the status. */
export function isWaitingForModules(object: KubeObject): boolean {
  return findCondition(readStatus(object).conditions ?? [], 'Ready')?.reason === REASON.waitingForModules;
}
