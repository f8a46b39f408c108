/** Stores the handed-out value in a Secret, and moves it when the spec changes the Secret's name. */
import { z } from 'zod';
import { KubeError } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { DeclaredDelivery, Delivery, Recipient, Remote } from '../declaration/external.ts';
import { type Handout, issuedAtIn, valueIn } from '../declaration/handout.ts';
import { readIdentity } from '../identity/identity.ts';
import { readStatus } from '../identity/recorded-status.ts';
import {
  defaultSecretName,
  type Handed,
  type Issue,
  isIntact,
  type SecretSpec,
  secretBody,
  secretNameOf,
  storedValue,
} from './content.ts';
import { idIn } from './data.ts';
import { formerNames, isOwnedBy, isReleased, looksOurs, requireOwnership } from './ownership.ts';
import type { SecretAccess } from './secret-access.ts';
import { requireName, requireSecretType, requireUnaltered, requireWritable } from './unwritable-secret.ts';

/** Placeholders of realistic length for a dry run, since an admission policy may check the length. */
const UNKNOWN = { id: 'x'.repeat(32), value: 'x'.repeat(50) };

/** How long after a Secret was accepted the next one in its namespace is expected to be. */
const TRUST_MS = 60_000;

type MayExist = (id: string) => Promise<boolean>;

export class SecretDelivery<Spec extends SecretSpec, R extends Remote> implements Delivery<Spec, R> {
  readonly handout: Handout;
  readonly renewal: Delivery<Spec, R>['renewal'];
  readonly #declared: DeclaredDelivery<Spec, R>;
  readonly #secrets: SecretAccess;
  readonly #mayExist: MayExist;
  /** By namespace, when a new Secret was last accepted, unless a later one was not. */
  readonly #acceptedAt = new Map<string | undefined, number>();

  constructor(declared: DeclaredDelivery<Spec, R>, secrets: SecretAccess, mayExist: MayExist) {
    this.handout = declared.handout;
    this.renewal = declared.renewal;
    this.#declared = declared;
    this.#secrets = secrets;
    this.#mayExist = mayExist;
  }

  async prepare(object: KubeObject, declared: Spec, isForGood = false): Promise<void> {
    const { namespace } = object.metadata;
    const { spec, name } = this.#named(object, declared);
    requireName(name);
    // If the Secret cannot be created after all, repeating the create returns the token again.
    if (!isForGood && !this.#secrets.cached(object, name) && this.#acceptsSecrets(namespace)) return;
    const body = (known?: KubeObject) => secretBody(this.handout, object, spec, UNKNOWN, known);
    // Even if the Secret is known to exist: in a namespace that is being deleted, it can still be written.
    const existing = await this.#existing(object, body(), this.#secrets.tryCreate(body(), namespace));
    if (!existing) return;
    requireSecretType(this.handout, existing);
    requireWritable(existing);
    requireUnaltered(body(existing), await this.#secrets.tryPatch(name, body(existing), namespace));
  }

  async deliver(recipient: Recipient, declared: Spec, remote: R): Promise<'held' | 'lost'> {
    const { object } = recipient;
    const { id } = remote;
    const issue = { id, issuedAt: issuedAtIn(this.handout, remote) };
    const { spec, name } = this.#named(object, declared);
    const shown = valueIn(this.handout, remote);
    // A one-time value in a response was just issued and cannot be read again. A cached Secret does not prove it is stored.
    const isNew = this.handout.isOneTime && shown !== undefined;
    if (!isNew && this.#formerNames(object, name).length === 0) {
      if (this.#isIntact(object, spec, { ...issue, value: shown })) return 'held';
    }
    // A new value usually needs a new Secret: create it without a read; an existing one causes a conflict.
    const mayExist = shown === undefined || this.#secrets.cached(object, name) !== undefined;
    const existing = mayExist ? await this.#find(object, name, id) : undefined;
    const former = await this.#findFormer(object, name);
    const stored = () => [existing, ...former].map((secret) => storedValue(this.handout, secret, issue)).find(Boolean);
    const value = shown ?? stored();
    if (value === undefined) return 'lost';
    // Check after reading the Secrets: if an object releases one later, the resource version makes our write fail.
    await recipient.mustBeNewest();
    await this.#write(object, spec, { ...issue, value }, existing);
    for (const secret of former) await this.#secrets.delete(secret);
    return 'held';
  }

  lostOverlapMs(spec: Spec): number {
    return this.#declared.lostOverlapMs?.(spec) ?? 0;
  }

  nameFor(object: KubeObject, spec: Spec): string {
    return this.#named(object, spec).name;
  }

  looksHeld(object: KubeObject, declared: Spec): boolean {
    const { externalId } = readIdentity(object);
    const { spec, name } = this.#named(object, declared);
    return (
      externalId !== undefined &&
      this.#formerNames(object, name).length === 0 &&
      this.#isIntact(object, spec, { id: externalId, issuedAt: this.#shownIssue(object) })
    );
  }

  /** When the current value was issued, according to the status; undefined if there is only one. */
  #shownIssue(object: KubeObject): string | undefined {
    return this.handout.issuedMember === undefined ? undefined : readStatus(object).issuedAt;
  }

  async stored(object: KubeObject): Promise<string[]> {
    const secrets = await this.#findFormer(object, undefined);
    return secrets.flatMap((secret) => {
      const id = idIn(secret, this.handout);
      return id !== undefined && storedValue(this.handout, secret, { id }) !== undefined ? [id] : [];
    });
  }

  async release(object: KubeObject, ids: readonly string[]): Promise<string[]> {
    const { uid: owner, namespace } = object.metadata;
    const held: string[] = [];
    // A Secret released before a crash no longer has the owner, and may not be in the status yet: also try its declared name.
    for (const name of new Set([...this.#formerNames(object, undefined), ...declaredNames(this.handout, object)])) {
      const existing = await this.#secrets.find(name, namespace);
      if (!existing) continue;
      const id = idIn(existing, this.handout) ?? '';
      const isFree = isReleased(this.handout, existing) && ids.includes(id);
      if (!isFree && !isOwnedBy(existing, object)) continue;
      held.push(id);
      if (isFree) continue;
      const { uid, resourceVersion, ownerReferences = [] } = existing.metadata;
      const others = ownerReferences.filter((reference) => reference.uid !== owner);
      await this.#secrets.patch(name, { metadata: { uid, resourceVersion, ownerReferences: others } }, namespace);
    }
    return held;
  }

  async #write(object: KubeObject, spec: SecretSpec, handed: Handed, known?: KubeObject): Promise<void> {
    const { namespace } = object.metadata;
    const created = secretBody(this.handout, object, spec, handed);
    const create = () => this.#secrets.create(created, namespace);
    const existing = known ?? (await this.#existing(object, created, create(), handed.id));
    if (!existing) return;
    const body = secretBody(this.handout, object, spec, handed, existing);
    requireSecretType(this.handout, existing);
    requireWritable(existing, body.data);
    requireUnaltered(body, await this.#secrets.patch(body.metadata.name, body, namespace));
  }

  /** The spec with the name of the Secret, which is the bare name of the object if it has a Secret of that name. */
  #named<S extends SecretSpec>(object: KubeObject, spec: S): { spec: S; name: string } {
    const bare = this.#secrets.cached(object, object.metadata.name);
    const isBare = spec.secret.name === undefined && bare !== undefined && looksOurs(this.handout, bare, object);
    const name = isBare ? object.metadata.name : secretNameOf(this.handout, object, spec);
    return { spec: { ...spec, secret: { ...spec.secret, name } }, name };
  }

  #acceptsSecrets(namespace: string | undefined): boolean {
    const acceptedAt = this.#acceptedAt.get(namespace);
    return acceptedAt !== undefined && Date.now() - acceptedAt < TRUST_MS;
  }

  /** The existing Secret that prevents the creation of `body`; undefined if it succeeds. */
  async #existing(
    object: KubeObject,
    body: ReturnType<typeof secretBody>,
    creation: Promise<KubeObject>,
    id?: string,
  ): Promise<KubeObject | undefined> {
    const { namespace } = object.metadata;
    try {
      requireUnaltered(body, await creation);
      this.#acceptedAt.set(namespace, Date.now());
    } catch (error) {
      this.#acceptedAt.delete(namespace);
      // In a terminating namespace, an existing Secret can still be written but will soon be gone.
      if (!(error instanceof KubeError) || error.isNamespaceTerminating) throw error;
      // An exhausted quota can mask that it exists.
      const existing = await this.#find(object, body.metadata.name, id);
      if (!existing) throw error;
      return existing;
    }
    return undefined;
  }

  /** @throws Blocked when the Secret of that name belongs to something else */
  async #find(object: KubeObject, name: string, id?: string): Promise<KubeObject | undefined> {
    const found = await this.#secrets.find(name, object.metadata.namespace);
    const mayExist = this.#secrets.mayAdopt(object.metadata.namespace ?? '') ? this.#mayExist : undefined;
    if (found) await requireOwnership(this.handout, found, object, id, mayExist);
    return found;
  }

  /** The object's Secrets under names other than `name`. */
  async #findFormer(object: KubeObject, name: string | undefined): Promise<KubeObject[]> {
    const found: KubeObject[] = [];
    for (const former of this.#formerNames(object, name)) {
      const secret = await this.#secrets.find(former, object.metadata.namespace);
      // A Secret that was recreated by hand may have another type but still hold the token.
      const isOfThis = secret?.type === this.handout.secretType || (secret && idIn(secret, this.handout) !== undefined);
      if (secret && isOfThis && isOwnedBy(secret, object)) found.push(secret);
    }
    return found;
  }

  #formerNames(object: KubeObject, name: string | undefined): string[] {
    return formerNames(object, this.#secrets.ownedBy(object.metadata.uid), name);
  }

  /** According to the cache. */
  #isIntact(object: KubeObject, spec: SecretSpec, expected: Issue & { value?: string | undefined }): boolean {
    const cached = this.#secrets.cached(object, secretNameOf(this.handout, object, spec));
    return isIntact(this.handout, cached, object, spec, expected);
  }
}

/** The names that the Secret may have by the spec, even if the rest of the spec is invalid. */
function declaredNames(handout: Handout, object: KubeObject): string[] {
  const given = nameInSpec.parse(object.spec)?.secret?.name;
  return given === undefined ? [object.metadata.name, defaultSecretName(handout, object)] : [given];
}

const nameInSpec = z
  .object({ secret: z.object({ name: z.string().min(1).optional() }).optional() })
  .optional()
  .catch(undefined);
