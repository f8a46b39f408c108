/**
 * Objects that wait for each other, in a circle, as two routes do that swap their paths: one of them gives up what it has,
 * and no longer wants, before it has anything else. docs/decisions/0016 has the rule.
 */
import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../client/errors.ts';
import { CONDITION, EVENT_REASON, REASON } from '../contract/reasons.ts';
import { findCondition } from '../kube/conditions.ts';
import { type KubeObject, keyOf } from '../kube/kube-object.ts';
import { everythingOf } from './disposal.ts';
import { type Remote, StaleObject } from './external.ts';
import { readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { isDeleting, isPaused, type ManagedSpec, readStatus } from './spec.ts';
import type { Wait } from './waiting.ts';

/**
 * Does the work, and remembers what the object waits for if it is refused for that.
 * @throws StaleObject when the object has given way: it has to wait for its turn
 */
export async function inTurn<T>(managed: ManagedObject, spec: ManagedSpec, work: () => Promise<T>): Promise<T> {
  const { uid } = managed.object.metadata;
  const { waiting } = managed;
  try {
    const done = await work();
    waiting.delete(uid);
    waiting.changed(idsOf(managed));
    return done;
  } catch (error) {
    const wants = holdersNamedBy(error);
    if (wants.length === 0) throw error;
    waiting.set(uid, waitOf(managed, wants));
    const circle = waiting.circleOf(uid);
    if (circle.length === 0 || !(await giveWay(managed, spec))) throw error;
    for (const { wake } of circle.slice(1)) wake();
    throw new StaleObject('it has given way to others');
  }
}

/** Of the resources that the object has. */
export const idsOf = ({ object }: Pick<ManagedObject, 'object'>): string[] =>
  everythingOf(readIdentity(object)).map(({ id }) => id);

function waitOf(managed: ManagedObject, wants: readonly string[]): Wait {
  const { object, kind } = managed;
  const { uid, generation } = object.metadata;
  const peer = kind.inputs.peer(kind.name);
  return {
    has: idsOf(managed),
    wants,
    isCurrent() {
      const now = peer?.store.get(keyOf(object));
      const isSame = now?.metadata.uid === uid && now.metadata.generation === generation;
      return now !== undefined && isSame && isWorkedOn(now);
    },
    wake: () => peer?.enqueue(keyOf(object)),
  };
}

/** The ids of the resources that have what was asked for, in the words of the API. */
export function holdersNamedBy(error: unknown): string[] {
  if (!(error instanceof ApiError) || error.code !== 'CONFLICT') return [];
  const fields = Object.entries(error.details).filter(([name]) => name.startsWith('/'));
  return fields.flatMap(([, reason]) => reason.match(ID) ?? []);
}

const ID = /\b[a-z]+_[0-9a-hjkmnp-tv-z]{26}\b/g;

/**
 * What an object waits for that another operator works on, as its condition shows it.
 * @param current the object as it is now
 */
export function waitShownBy(object: KubeObject, current: () => KubeObject | undefined): Wait | undefined {
  const wants = holdersShownBy(object);
  if (wants.length === 0) return undefined;
  return {
    has: idsOf({ object }),
    wants,
    isCurrent() {
      const now = current();
      return now !== undefined && isWorkedOn(now) && isDeepStrictEqual(holdersShownBy(now), wants);
    },
    // Its own operator retries it, and sees what the others have become.
    wake: () => {},
  };
}

function holdersShownBy(object: KubeObject): string[] {
  const ready = findCondition(readStatus(object).conditions ?? [], CONDITION.ready);
  const isShown = ready?.reason === REASON.rejected && ready.observedGeneration === object.metadata.generation;
  return isShown ? [...ready.message.matchAll(IN_USE)].flatMap(([text]) => text.match(ID) ?? []) : [];
}

/** The words of the API; other refusals name resources, too. */
const IN_USE = /is already used by [a-z]+_\w+/g;

const isWorkedOn = (object: KubeObject) => !isPaused(object) && !isDeleting(object);

/** False if there is nothing to give up, or no more. */
async function giveWay(managed: ManagedObject, spec: ManagedSpec): Promise<boolean> {
  const { external } = managed.kind;
  // By now the spec may ask for what it has.
  await managed.mustBeNewest();
  const current = await currentOf(managed);
  if (!current || !(await external.giveUp?.(current, spec))) return false;
  const message = `${current.id} gives up what others wait for, and waits for what they have`;
  managed.recordEvent('Normal', EVENT_REASON.gaveWay, message);
  return true;
}

/** What serves for the object: its resource, or the one that is about to be replaced. */
async function currentOf(managed: ManagedObject): Promise<Remote | undefined> {
  const { externalId, retiring } = readIdentity(managed.object);
  const id = externalId ?? retiring.at(-1)?.id;
  return id === undefined ? undefined : managed.kind.external.observe(id);
}
