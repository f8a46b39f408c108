/**
 * What a resource serves only once it is guarded: as long as the modules that other objects declare for it are not there,
 * a new one would serve everybody. What serves already goes on.
 */
import { z } from 'zod';
import { REASON } from '../contract/reasons.ts';
import { findCondition } from '../kube/conditions.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import type { Finding, Remote } from './external.ts';
import { specPaths } from './findings.ts';
import type { ManagedObject } from './managed-object.ts';
import { type ManagedSpec, readStatus } from './spec.ts';

/** The member of a spec by which a resource is guarded, though nobody has declared its modules (yet). */
export const guardable = {
  requireModules: z.boolean().optional().meta({
    description:
      'Whether it serves only once it has a module, even while no object declares one. What serves already goes on. Default: false.',
  }),
};

export interface Guarded {
  /** What may be set by now. */
  spec: ManagedSpec;
  /** What the rest waits for; undefined if there is no rest. */
  waiting: Finding | undefined;
}

/** @param remote undefined before it is created */
export function guarded({ object, kind }: ManagedObject, spec: ManagedSpec, remote?: Remote): Guarded {
  const members = kind.unserved(spec, remote);
  const guards = members.length === 0 ? [] : kind.inputs.modulesDeclaredFor(kind.name, object);
  const present = withModules.safeParse(remote).data?.modules ?? [];
  const isRequired = members.length > 0 && requiring.safeParse(spec).success;
  // Of several that declare modules of one resource, one sets them.
  const isGuarded =
    guards.length === 0
      ? !isRequired || present.length > 0
      : guards.some(({ modules }) => modules.every((module) => present.includes(module)));
  if (isGuarded) return { spec, waiting: undefined };
  const declared = guards.map(({ referrer, modules }) => `${modules.join(' and ')} of ${referrer}`);
  const missing = guards.length === 0 ? NONE_DECLARED : declared.join(', or ');
  const message = `${specPaths(members)} is set once the modules are there, without which it would serve everybody: ${missing}`;
  const others = Object.entries(spec).filter(([member]) => !members.includes(member));
  return {
    // Only optional members are ever left out.
    spec: Object.fromEntries(others) as typeof spec,
    waiting: { status: 'False', reason: REASON.waitingForModules, message },
  };
}

const requiring = z.looseObject({ requireModules: z.literal(true) });

const NONE_DECLARED = 'spec.requireModules asks for some, and no object declares any';

const withModules = z.object({ modules: z.array(z.string()) });

/** Whether the resource does not serve yet, according to the status. */
export function isWaitingForModules(object: KubeObject): boolean {
  return findCondition(readStatus(object).conditions ?? [], 'Ready')?.reason === REASON.waitingForModules;
}
