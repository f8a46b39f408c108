/** A management API in memory, and the kind `Thing`, whose objects manage its resources. */
import { setImmediate as answer } from 'node:timers/promises';
import { z } from 'zod';
import type { ClaimOptions, CreateOptions, WriteOptions } from '../../../src/client/call-options.ts';
import { ApiError } from '../../../src/client/errors.ts';
import type {
  CreateScope,
  Delivery,
  External,
  Remote,
  Renewal,
  Sight,
} from '../../../src/operator/managed/declaration/external.ts';
import { kind, type SpecOf } from '../../../src/operator/managed/declaration/kind.ts';
import { ERROR_STATUS, type ErrorCode } from '../../../src/resources/definition/errors.ts';
import { detailsOf, type Manager } from '../../../src/resources/definition/manager.ts';

const shape = {
  size: z.int().default(1),
  /** Cannot be changed. */
  shape: z.string().default('round'),
  /** A change of it replaces the thing. */
  material: z.string().default('wood'),
  /** Whether it serves. */
  open: z.boolean().optional(),
  /** For a kind whose objects have settings: the id of the resource that the settings belong to. */
  of: z.string().optional(),
};
type ThingSpec = SpecOf<typeof shape>;

export interface Thing extends Remote {
  size: number;
  shape: string;
  material: string;
  open?: boolean | undefined;
}

export const apiError = (error_code: ErrorCode, details: Record<string, string> = {}) =>
  new ApiError({ error_code, status_code: ERROR_STATUS[error_code], msg: `msg of ${error_code}`, details });

const MEMBERS = ['size', 'shape', 'material', 'open'] as const;

export class Things implements External<ThingSpec, Thing> {
  readonly idPrefix = 'thg_';
  /** The existing things, by id. */
  readonly existing = new Map<string, Thing>();
  /** The ids of those that are hidden from the operator's API key. */
  readonly hidden = new Set<string>();
  /** The ids of those that another resource refers to. */
  readonly inUse = new Set<string>();
  /** The idempotency keys of all creates. */
  readonly sent: string[] = [];
  /** The ids of those that were updated. */
  readonly updated: string[] = [];
  /** The recorded managers, by the id of what they manage. */
  readonly managers = new Map<string, Manager>();
  /** Every claim and release, such as `claim thg_1`. */
  readonly managed: string[] = [];
  /** Whether errors name a thing by part of its id, as those of nested resources do. */
  namesInPart = false;
  /** Whether deletes fail. */
  isReadOnly = false;
  /** The scope of creates of the object. */
  created: CreateScope = { resources: [], nextSequence: 1 };
  seen: 'everything' | Sight = 'everything';
  readonly #byKey = new Map<string, { id: string; made: string }>();

  constructor(...ids: string[]) {
    for (const id of ids) this.make(id);
  }

  make(id: string, as: Partial<Thing> = {}): Thing {
    const thing = { id, uri: `http://api/${id}`, size: 1, shape: 'round', material: 'wood', ...as };
    this.existing.set(id, thing);
    return thing;
  }

  /** Makes things as if created for the object, one after the other. */
  makeFor(...ids: string[]): this {
    for (const id of ids) {
      const { resources, nextSequence } = this.created;
      this.make(id);
      this.created = { resources: [{ id, sequence: nextSequence }, ...resources], nextSequence: nextSequence + 1 };
    }
    return this;
  }

  get ids(): string[] {
    return [...this.existing.keys()];
  }

  isId(id: string): boolean {
    return id.startsWith(this.idPrefix);
  }

  async observe(id: string): Promise<Thing | undefined> {
    await answer();
    return this.hidden.has(id) ? undefined : this.existing.get(id);
  }

  async create(spec: ThingSpec, options: CreateOptions): Promise<Thing> {
    const { idempotencyKey = '', idempotencyPlace, manager } = options;
    await answer();
    this.sent.push(idempotencyKey);
    const { resources, nextSequence } = this.created;
    const made = JSON.stringify(MEMBERS.map((name) => spec[name]));
    const before = this.#byKey.get(idempotencyKey);
    const existing = before && this.existing.get(before.id);
    if (existing && before?.made === made) return { ...existing, isReplay: true };
    const named = this.namesInPart ? before?.id.slice(this.idPrefix.length) : before?.id;
    if (named !== undefined) throw apiError('IDEMPOTENCY_KEY_REUSED', { resource_id: named });
    if (idempotencyPlace?.sequence !== nextSequence)
      throw apiError('CONFLICT', { idempotency_scope: 'out_of_sequence' });
    const id = `${this.idPrefix}new${nextSequence}`;
    this.#byKey.set(idempotencyKey, { id, made });
    this.created = { resources: [{ id, sequence: nextSequence }, ...resources], nextSequence: nextSequence + 1 };
    const { size, shape, material, open } = spec;
    if (manager) this.managers.set(id, manager);
    return this.make(id, { size, shape, material, open });
  }

  changes(spec: ThingSpec, remote: Thing): string[] {
    return MEMBERS.filter((name) => spec[name] !== undefined && spec[name] !== remote[name]);
  }

  immutableChanges(spec: ThingSpec, remote: Thing): string[] {
    return this.changes(spec, remote).filter((name) => ['shape', 'material'].includes(name));
  }

  replacingChanges(spec: ThingSpec, remote: Thing): string[] {
    return this.changes(spec, remote).filter((name) => name === 'material');
  }

  async update({ id }: Thing, spec: ThingSpec, { manager }: WriteOptions = {}): Promise<Thing> {
    await answer();
    this.#refuseAnother(id, manager);
    const { size, shape, material, open } = spec;
    this.updated.push(id);
    return this.make(id, { size, shape, material, open });
  }

  async delete(id: string, { manager }: WriteOptions = {}): Promise<'deleted' | 'not found'> {
    await answer();
    this.#refuseAnother(id, manager);
    if (this.isReadOnly) throw apiError('UNAVAILABLE');
    if (this.inUse.has(id)) throw apiError('RESOURCE_IN_USE');
    if (this.hidden.has(id) || !this.existing.delete(id)) return 'not found';
    const resources = this.created.resources.filter((each) => each.id !== id);
    this.created = { ...this.created, resources };
    return 'deleted';
  }

  async claim(id: string, { manager, takeOverFrom }: ClaimOptions): Promise<void> {
    await answer();
    this.managed.push(takeOverFrom === undefined ? `claim ${id}` : `claim ${id} from ${takeOverFrom}`);
    if (this.managers.get(id)?.id !== takeOverFrom) this.#refuseAnother(id, manager);
    if (manager && this.existing.has(id)) this.managers.set(id, manager);
  }

  async release(id: string, { manager }: WriteOptions): Promise<void> {
    await answer();
    this.managed.push(`release ${id}`);
    this.#refuseAnother(id, manager);
    this.managers.delete(id);
  }

  #refuseAnother(id: string, manager: Manager | undefined): void {
    const recorded = this.managers.get(id);
    if (!recorded || !manager || recorded.id === manager.id) return;
    throw apiError('CONFLICT', { ...detailsOf(recorded), resource_id: id });
  }

  async sight(): Promise<'everything' | Sight> {
    await answer();
    return this.seen;
  }

  async *all(): AsyncIterable<Thing> {
    yield* this.existing.values();
  }

  async scope(): Promise<CreateScope> {
    await answer();
    return this.created;
  }

  async closeScope(): Promise<CreateScope> {
    await answer();
    this.created = { ...this.created, nextSequence: this.created.nextSequence + 1 };
    return this.created;
  }
}

export type ThingKind = Parameters<typeof kind<typeof shape, Thing>>[0];

/** The kind whose objects manage things. */
export function thingKind(things: Things, more: Partial<ThingKind> = {}) {
  return kind<typeof shape, Thing>({
    kind: 'Thing',
    shortNames: [],
    description: 'A thing.',
    spec: shape,
    status: {},
    rules: [],
    printerColumns: [],
    external: () => things,
    describe: () => ({}),
    ...more,
  });
}

/** Makes it a kind whose objects have settings of the resource that they refer to. */
export const SETTINGS: Partial<ThingKind> = {
  owner: { kind: 'Owner', givenIn: ({ of }) => of, modulesIn: () => [] },
};

/** Makes it a kind whose objects all have settings of the same resource. */
export const modulesOf = (id: string) => ({ owner: { kind: 'Owner', givenIn: () => id, modulesIn: () => [] } });

/** Makes it a kind whose resources serve once they are open. */
export const SERVING: Partial<ThingKind> = {
  unserved: (spec, remote) => (spec.open && !remote?.open ? ['open'] : []),
};

interface Tokens {
  isOneTime?: boolean;
  due?: Renewal | undefined;
  /** Rejects if a token could not be delivered. */
  prepare?: () => Promise<void>;
  deliver?: Delivery<ThingSpec, Thing>['deliver'];
}

/** Makes it a kind with tokens; the tokens of the things in `held` are in their Secrets. */
export function tokens(
  held: readonly string[],
  { isOneTime = true, due, prepare = async () => {}, deliver }: Tokens = {},
): Partial<ThingKind> {
  const renewal = () => (due ? { due } : {});
  const names = { secretType: 'any', suffix: '', idKey: 'id', key: 'token', member: 'token' };
  const handout = { what: 'token', ...names, isOneTime };
  const delivery: Delivery<ThingSpec, Thing> = {
    handout,
    renewal,
    nameFor: () => 'any',
    prepare,
    deliver: deliver ?? (async (_recipient, _spec, { id }) => (held.includes(id) ? 'held' : 'lost')),
    looksHeld: () => true,
    lostOverlapMs: () => 0,
    stored: async () => [...held],
    release: async () => [...held],
  };
  return { delivery };
}

/** The scope of an object for which these resources were created, newest last. */
export const scopeOf = (...ids: string[]): CreateScope => ({
  resources: ids.map((id, index) => ({ id, sequence: index + 1 })).reverse(),
  nextSequence: ids.length + 1,
});
