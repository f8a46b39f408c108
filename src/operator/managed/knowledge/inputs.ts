/** Resolves the inputs of a spec to their current values, from the caches of all kinds. */
import { z } from 'zod';
import { REASON } from '../../contract/reasons.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { ObjectStore } from '../../kube/object-store.ts';
import { DigestedText, type Digester } from '../declaration/digest.ts';
import { Blocked } from '../declaration/external.ts';
import {
  type Input,
  inputsOf,
  isReference,
  isSource,
  type PlacedInput,
  type Reference,
  replaceInputs,
  type Source,
  unresolved,
} from '../declaration/input.ts';
import { valueIn } from '../declaration/spec-terms.ts';
import { type UsedInputs, type UsedReference, type UsedSource, usedIds } from '../identity/recorded-status.ts';
import { type Crossing, grantedTo, notPermitted, permits } from './reference-grants.ts';
import { objectKey, partsOf, type ReferenceIndex, targetOf } from './reference-index.ts';
import type { SourceCache } from './source-cache.ts';

/** The objects of one kind, as others refer to them. */
export interface Peer {
  readonly store: ObjectStore;
  /** Why the store may lack objects of the namespace that exist; undefined if it has them all. */
  gap?(namespace: string): string | undefined;
  /** For kinds whose objects declare modules: the kind of their owners. */
  readonly ownerKind?: string | undefined;
  /** The modules that the object declares for its owner. */
  modulesIn?(object: KubeObject): readonly string[];
  /** The references of the object. */
  referencesIn?(object: KubeObject): readonly Reference[];
  /** Lists the namespace into the store, since its watch may lag. @throws KubeError, KubeUnreachableError */
  catchUp?(namespace: string): Promise<void>;
  /** The keys of the objects that claim the id, or show it to those that refer to them. */
  concernedWith?(id: string): readonly string[];
  /** Has the object reconciled soon, ahead of any planned time. */
  enqueue(key: string): void;
}

export interface Resolved<Spec> {
  spec: Spec;
  /** Undefined if the spec has no inputs. */
  inputs: UsedInputs | undefined;
  /** A remark for the user about an input that can still be used. */
  remark?: string | undefined;
}

/** An object that refers to another. */
export interface Referrer {
  /** As people name it. */
  name: string;
  /** Whether it can never refer to another. */
  isBound: boolean;
}

export interface InputsOptions {
  index: ReferenceIndex;
  sources: Pick<SourceCache, 'reader' | 'versionOf'>;
  /** The ReferenceGrants; empty if the cluster has none. */
  grants: Pick<ObjectStore, 'values'>;
  /** Why `grants` may lack some of the namespace; undefined if it has them all. */
  grantsGap?(namespace: string): string | undefined;
  /** Lists the namespace's ReferenceGrants into `grants`, since their watch may lag. @throws KubeError, KubeUnreachableError */
  catchUpOnGrants?(namespace: string): Promise<void>;
  /** Why objects of the namespace are unknown, whatever exists there; undefined if it is watched. */
  unwatched?(namespace: string): string | undefined;
  /** Which connection to the API an object uses: another one may not see its resource. */
  connectionOf?(object: KubeObject): string;
  digest: Digester;
}

export class Inputs {
  readonly index: ReferenceIndex;
  readonly #options: InputsOptions;
  readonly #peers = new Map<string, Peer>();

  constructor(options: InputsOptions) {
    this.index = options.index;
    this.#options = options;
  }

  addPeer(kind: string, peer: Peer): void {
    this.#peers.set(kind, peer);
  }

  peer(kind: string): Peer | undefined {
    return this.#peers.get(kind);
  }

  /** The spec with ids for references and text for sources. @throws Blocked naming the field; KubeError */
  async resolve<Spec>(kind: string, object: KubeObject, spec: Spec): Promise<Resolved<Spec>> {
    const placed = inputsOf(spec);
    if (placed.length === 0) return { spec, inputs: undefined };
    const values = new Map<Input, unknown>();
    const references = placed.filter(isReference).map((each) => {
      const id = this.#idOf(kind, object, each);
      values.set(each.input, id);
      return { field: each.path, id };
    });
    const { namespace = '', name } = object.metadata;
    const read = this.#options.sources.reader(namespace, objectKey(kind, namespace, name));
    const sources: UsedSource[] = [];
    for (const { input, path } of placed.filter(isSource)) {
      const { text, resourceVersion } = await read(input, path);
      values.set(input, validText(input, text, path));
      const digest = this.#options.digest(object.metadata.uid, path, text);
      sources.push({ field: path, kind: input.kind, name: input.name, resourceVersion, digest });
    }
    const remark = placed.filter(isReference).flatMap((each) => this.#farewellTo(object, each))[0];
    return { spec: replaceInputs(spec, (input) => values.get(input)), inputs: { sources, references }, remark };
  }

  /**
   * The same from the caches alone, with digests instead of texts; undefined if an input cannot be resolved, or a source
   * has changed since it was read.
   */
  fromCaches<Spec>(kind: string, object: KubeObject, spec: Spec, used: readonly UsedSource[]): Spec | undefined {
    const { uid, namespace = '' } = object.metadata;
    const values = new Map<Input, unknown>();
    try {
      for (const placed of inputsOf(spec)) {
        const { input, path } = placed;
        if (isReference(placed)) values.set(input, this.#idOf(kind, object, placed));
        if (!isSource(placed)) continue;
        const { kind: sourceKind, name } = placed.input;
        const known = used.find((each) => each.field === path && each.kind === sourceKind && each.name === name);
        if (!known || known.resourceVersion !== this.#options.sources.versionOf(placed.input, namespace))
          return undefined;
        values.set(input, new DigestedText((text) => this.#options.digest(uid, path, text) === known.digest));
      }
    } catch (error) {
      if (error instanceof Blocked) return undefined;
      throw error;
    }
    return replaceInputs(spec, (input) => values.get(input));
  }

  /** The ids that the references of a spec now resolve to; undefined if one of them cannot be resolved. */
  referencesOf<Spec>(kind: string, object: KubeObject, spec: Spec): UsedReference[] | undefined {
    try {
      return inputsOf(spec)
        .filter(isReference)
        .map((each) => ({ field: each.path, id: this.#idOf(kind, object, each) }));
    } catch (error) {
      if (error instanceof Blocked) return undefined;
      throw error;
    }
  }

  /** The objects that refer to this one and may do so. */
  referrersOf(kind: string, object: KubeObject): Referrer[] {
    const { namespace = '', name } = object.metadata;
    const target = objectKey(kind, namespace, name);
    return this.#referrersOf(kind, object).map((referrer) => {
      const peer = this.peer(referrer.kind);
      const found = this.#find(referrer);
      const references = (found && peer?.referencesIn?.(found)) ?? [];
      const isBound = references.some(
        (input) => input.isImmutable && targetOf({ input }, referrer.namespace) === target,
      );
      return { name: said(referrer), isBound };
    });
  }

  /** The modules that others declare for this object's resource, and may declare. */
  modulesDeclaredFor(kind: string, object: KubeObject): { referrer: string; modules: readonly string[] }[] {
    return this.#referrersOf(kind, object).flatMap((referrer) => {
      const peer = this.peer(referrer.kind);
      const found = this.#find(referrer);
      if (!found || found.metadata.deletionTimestamp !== undefined) return [];
      const modules = peer?.modulesIn?.(found) ?? [];
      return modules.length > 0 ? [{ referrer: said(referrer), modules }] : [];
    });
  }

  /**
   * Brings the caches up to date with every object that may declare modules for this one. Their watches lag independently,
   * and an object that could not be listed would count as missing.
   * @returns why some may be unknown nevertheless; undefined if none are
   * @throws KubeError, KubeUnreachableError
   */
  async catchUpOnModules(
    kind: string,
    { metadata: { namespace = '', name } }: KubeObject,
  ): Promise<string | undefined> {
    // If grants cannot be read, none permits anything, as for every reference.
    await this.#options.catchUpOnGrants?.(namespace).catch(ignoreForbidden);
    const lists = [...this.#peers].flatMap(([from, peer]) => {
      if (peer.ownerKind !== kind) return [];
      const others = grantedTo([...this.#options.grants.values()], from, { kind, namespace, name });
      return [...new Set([namespace, ...others])].map((each) => peer.catchUp?.(each).then(() => each));
    });
    // Only now: a namespace that is no longer watched leaves the caches at once, even during the lists.
    const gaps = (await Promise.all(lists)).map((each) => each && this.#options.unwatched?.(each));
    return gaps.find((gap) => gap !== undefined);
  }

  /** The objects that the object refers to. */
  targetsOf(kind: string, { metadata }: KubeObject): KubeObject[] {
    return [...this.index.targetsOf(objectKey(kind, metadata.namespace ?? '', metadata.name))].flatMap((key) => {
      return this.#find(partsOf(key)) ?? [];
    });
  }

  /** Whether the object may refer to the target, regardless of whether it exists. */
  mayReferTo(kind: string, { metadata }: KubeObject, { kind: to, namespace, name }: Reference): boolean {
    const from = { kind, namespace: metadata.namespace ?? '' };
    if (namespace === undefined || namespace === from.namespace) return true;
    return this.#isPermitted(from, { kind: to, namespace, name });
  }

  #referrersOf(kind: string, { metadata }: KubeObject) {
    const { namespace = '', name } = metadata;
    const all = [...this.index.referrersOf(objectKey(kind, namespace, name))].map(partsOf);
    return all.filter((one) => one.namespace === namespace || this.#isPermitted(one, { kind, namespace, name }));
  }

  /** The ids that referrers of this object used at their last reconcile; they may still have to switch to another. */
  idsInUseBy(kind: string, { metadata }: KubeObject): string[] {
    const { namespace = '', name } = metadata;
    return [...this.index.referrersOf(objectKey(kind, namespace, name))].flatMap((key) => {
      const { id, references = [] } = usedIds.safeParse(this.#find(partsOf(key))?.status).data ?? {};
      return [...references.map((reference) => reference.id), ...(id === undefined ? [] : [id])];
    });
  }

  /** The remark about a target that is being deleted but can be used until it is gone. */
  #farewellTo({ metadata }: KubeObject, { input, path }: PlacedInput<Reference>): string[] {
    const to = { kind: input.kind, namespace: input.namespace ?? metadata.namespace ?? '', name: input.name };
    const target = this.#find(to);
    if (target?.metadata.deletionTimestamp === undefined) return [];
    return [`${path}: ${said(to)} is being deleted, and waits for this object, which works until you delete it`];
  }

  #idOf(kind: string, object: KubeObject, { input, path }: PlacedInput<Reference>): string {
    const { metadata, status } = object;
    const from = { kind, namespace: metadata.namespace ?? '' };
    const to = { kind: input.kind, namespace: input.namespace ?? from.namespace, name: input.name };
    const what = said(to);
    // Check permission first, so that the message does not reveal whether the target exists in another namespace.
    if (to.namespace !== from.namespace && !this.#isPermitted(from, to)) {
      const message = notPermitted({ from, to }, this.#options.grantsGap?.(to.namespace));
      throw unresolved(REASON.referenceNotPermitted, path, message);
    }
    const target = this.#find(to);
    if (!target) {
      const gap = this.peer(to.kind)?.gap?.(to.namespace);
      if (gap !== undefined) throw unresolved(REASON.referenceNotReady, path, `${what} is not known yet: ${gap}`);
      throw unresolved(REASON.referenceNotFound, path, `${what} does not exist: create it, or correct the reference`);
    }
    const id = resourceIdOf(target);
    // The target waits for this object, which can never refer to another: refusing it would deadlock both.
    const isBound = input.isImmutable && usedIds.safeParse(status).data?.references?.some((used) => used.id === id);
    if (target.metadata.deletionTimestamp !== undefined && !isBound) {
      const remedy = input.isImmutable
        ? 'delete this object, and create one that refers to another'
        : 'refer to another, or delete this object as well';
      throw unresolved(REASON.referenceDeleting, path, `${what} is being deleted: ${remedy}`);
    }
    if (this.#options.connectionOf?.(target) !== this.#options.connectionOf?.(object)) {
      const message = `${what} uses another connection to the management API: both need the same one`;
      throw unresolved(REASON.referenceNotPermitted, path, message);
    }
    if (id !== undefined) return id;
    throw unresolved(REASON.referenceNotReady, path, `${what} is not ready yet: its condition Ready says why`);
  }

  #find({ kind, namespace, name }: Crossing['to']): KubeObject | undefined {
    return this.peer(kind)?.store.get(`${namespace}/${name}`);
  }

  #isPermitted(from: Crossing['from'], to: Crossing['to']): boolean {
    return [...this.#options.grants.values()].some((grant) => permits(grant, { from, to }));
  }
}

function ignoreForbidden(error: unknown): void {
  if (!(error instanceof KubeError && error.isForbidden)) throw error;
}

/** As people name an object. */
const said = ({ kind, namespace, name }: Crossing['to']) => `${kind} ${namespace}/${name}`;

const shownId = z.object({ id: z.string() });

/**
 * The id of the resource that the object stands for: the status has it once the object was ready, and keeps it until a
 * replacement is ready.
 */
export function resourceIdOf(object: KubeObject): string | undefined {
  return shownId.safeParse(object.status).data?.id;
}

function validText(source: Source, text: string, path: string): unknown {
  const parsed = source.schema.safeParse(text);
  if (parsed.success) return parsed.data;
  const reason = parsed.error.issues[0]?.message ?? 'is not valid';
  throw unresolved(REASON.sourceInvalid, path, `${valueIn(source)} ${reason}`);
}
