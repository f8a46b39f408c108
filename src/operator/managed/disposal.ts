/**
 * Getting rid of remote resources: of those that have a successor, and of all when the object goes. A key is closed before
 * what was made under it is deleted, so that a create that is still on its way cannot bring another one.
 */
import { ApiError } from '../../client/errors.ts';
import { EVENT, REASON } from '../contract/reasons.ts';
import { Blocked, type Delivery, type External } from './external.ts';
import { dueForRetirement, idempotencyKeyOf, type Retiring, readIdentity } from './identity.ts';
import type { Work } from './managed-object.ts';

export class Disposal {
  readonly #external: Pick<External<never, never>, 'delete' | 'closeKey'>;
  readonly #delivery: Pick<Delivery<never, never>, 'release'> | undefined;

  constructor(
    external: Pick<External<never, never>, 'delete' | 'closeKey'>,
    delivery: Pick<Delivery<never, never>, 'release'> | undefined,
  ) {
    this.#external = external;
    this.#delivery = delivery;
  }

  /** Deletes what was superseded, now that its successor is recorded; answers when the next is due. */
  async retireSuperseded(work: Work, now: Date): Promise<Date | undefined> {
    const identity = readIdentity(work.object);
    if (identity.retiring.length === 0) return undefined;
    const { due, later } = dueForRetirement(identity, now);
    await this.#deleteSuperseded(work, due);
    if (due.length > 0) {
      await work.persist({ ...identity, retiring: later });
      work.record('Normal', EVENT.retired, `Deleted ${due.map(({ id }) => id).join(', ')}`);
    }
    return later.map(({ after }) => new Date(after)).reduce<Date | undefined>(earliest, undefined);
  }

  async #deleteSuperseded(work: Work, entries: readonly Retiring[]): Promise<void> {
    for (const { id, generation } of entries) {
      await this.closeKey(work, generation);
      await this.#external.delete(id);
    }
  }

  /** The id of what was created in this generation and still exists. Generation 0 is of what was adopted. */
  async closeKey(work: Work, generation: number): Promise<string | undefined> {
    return generation > 0 ? this.#external.closeKey(idempotencyKeyOf(work.object, generation)) : undefined;
  }

  /** Leaves the resource, and what was handed out with it, to live on without the object. */
  async retain(work: Work): Promise<void> {
    const { externalId, generation, retiring } = readIdentity(work.object);
    // Nobody is left to revoke, when its time comes, what already has a successor.
    if (externalId !== undefined) await this.#deleteSuperseded(work, retiring);
    await this.#delivery?.release(work.object);
    const left = externalId ?? (await this.closeKey(work, generation));
    if (left !== undefined) work.record('Normal', EVENT.retained, `Left ${left} in place`);
  }

  /** Deletes whatever was created for the object, recorded or not. @throws Blocked while something refers to it */
  async deleteRemote(work: Work): Promise<void> {
    const identity = readIdentity(work.object);
    const ids = new Set(identity.retiring.map(({ id }) => id));
    const generations = new Set([identity.generation, ...identity.retiring.map(({ generation }) => generation)]);
    for (const generation of generations) {
      const unrecorded = await this.closeKey(work, generation);
      if (unrecorded !== undefined) ids.add(unrecorded);
    }
    if (identity.externalId !== undefined) ids.add(identity.externalId);
    for (const id of ids) {
      try {
        await this.#external.delete(id);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'RESOURCE_IN_USE') throw error;
        throw new Blocked(REASON.deletionBlocked, `${id} cannot be deleted yet: ${error.message}`);
      }
    }
    if (ids.size > 0) work.record('Normal', EVENT.deleted, `Deleted ${[...ids].join(', ')}`);
  }
}

/** The earlier of two times, either of which may be missing. */
export function earliest(a: Date | undefined, b: Date | undefined): Date | undefined {
  if (!a || !b) return a ?? b;
  return a < b ? a : b;
}
