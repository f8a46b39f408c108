/** Stores the token of a credential in a Secret, and moves it when the object changes the Secret's name. */
import type { credential } from '../../../resources/credential.ts';
import type { View } from '../../../resources/definition/resource.ts';
import { SECRET_TYPE } from '../../contract/names.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { Delivery, Remote } from '../external.ts';
import { readIdentity } from '../identity.ts';
import { decideRotation } from '../rotation.ts';
import { isIntact, type SecretSpec, secretBody, secretNameOf, tokenIn } from './content.ts';
import { credentialIn } from './data.ts';
import { mustBeWritable } from './immutable-secret.ts';
import { formerNames, isOurs, isOwnedBy, releasedCredential, secretConflict } from './ownership.ts';
import type { SecretAccess } from './secret-access.ts';

type Credential = View<typeof credential> & Remote;

type MayExist = (id: string) => Promise<boolean>;

export function tokenSecret(secrets: SecretAccess, mayExist: MayExist): Delivery<SecretSpec, Credential> {
  return new TokenSecret(secrets, mayExist);
}

class TokenSecret implements Delivery<SecretSpec, Credential> {
  readonly #secrets: SecretAccess;
  readonly #mayExist: MayExist;

  constructor(secrets: SecretAccess, mayExist: MayExist) {
    this.#secrets = secrets;
    this.#mayExist = mayExist;
  }

  async prepare(object: KubeObject, spec: SecretSpec): Promise<void> {
    try {
      await this.#secrets.tryCreate(secretBody(object, spec, '', ''), object.metadata.namespace);
    } catch (error) {
      // A Secret that exists can still be written then, but would soon be gone.
      if (error instanceof KubeError && error.isNamespaceTerminating) throw error;
      // It need not be created if it exists. A used-up quota hides that.
      const existing = await this.#find(object, secretNameOf(object, spec));
      if (!existing) throw error;
      mustBeWritable(existing);
    }
  }

  async deliver(object: KubeObject, spec: SecretSpec, remote: Credential): Promise<'held' | 'lost'> {
    const name = secretNameOf(object, spec);
    if (remote.token === null && this.#formerNames(object, name).length === 0) {
      if (this.#isIntact(object, spec, remote.id)) return 'held';
    }
    // A new token usually goes into a new Secret, so create it without looking; an existing one shows as a conflict.
    const mayExist = remote.token === null || this.#secrets.cached(object, name) !== undefined;
    const existing = mayExist ? await this.#find(object, name, remote.id) : undefined;
    const former = await this.#findFormer(object, name);
    const token = remote.token ?? [existing, ...former].map((secret) => tokenIn(secret, remote.id)).find(Boolean);
    if (token === undefined) return 'lost';
    await this.#write(object, spec, remote.id, token, existing);
    for (const secret of former) await this.#secrets.delete(secret);
    return 'held';
  }

  looksHeld(object: KubeObject, spec: SecretSpec): boolean {
    const { externalId } = readIdentity(object);
    return (
      externalId !== undefined &&
      this.#formerNames(object, secretNameOf(object, spec)).length === 0 &&
      this.#isIntact(object, spec, externalId)
    );
  }

  async stored(object: KubeObject): Promise<string[]> {
    const secrets = await this.#findFormer(object, undefined);
    return secrets.flatMap((secret) => {
      const id = credentialIn(secret);
      return id !== undefined && tokenIn(secret, id) !== undefined ? [id] : [];
    });
  }

  renewal(object: KubeObject, spec: SecretSpec, remote: Credential, now: Date) {
    return decideRotation(object, spec, { at: remote.created_at, seenAt: remote.answeredAt }, now);
  }

  async release(object: KubeObject): Promise<string[]> {
    const { uid: owner, namespace } = object.metadata;
    const held: string[] = [];
    for (const name of this.#formerNames(object, undefined)) {
      const existing = await this.#secrets.find(name, namespace);
      const isReleased = existing?.type === SECRET_TYPE && !existing.metadata.ownerReferences?.length;
      if (!existing || !(isReleased || isOwnedBy(existing, object))) continue;
      held.push(credentialIn(existing) ?? '');
      if (isReleased) continue;
      const { uid, resourceVersion, ownerReferences = [] } = existing.metadata;
      const others = ownerReferences.filter((reference) => reference.uid !== owner);
      await this.#secrets.patch(name, { metadata: { uid, resourceVersion, ownerReferences: others } }, namespace);
    }
    return held;
  }

  async #write(object: KubeObject, spec: SecretSpec, id: string, token: string, known?: KubeObject): Promise<void> {
    const name = secretNameOf(object, spec);
    const { namespace } = object.metadata;
    const existing = known ?? (await this.#create(object, spec, id, token));
    if (!existing) return;
    const body = secretBody(object, spec, id, token, existing);
    mustBeWritable(existing, body.data);
    await this.#secrets.patch(name, body, namespace);
  }

  /** Undefined if it was created, else the existing Secret. */
  async #create(object: KubeObject, spec: SecretSpec, id: string, token: string): Promise<KubeObject | undefined> {
    try {
      await this.#secrets.create(secretBody(object, spec, id, token), object.metadata.namespace);
      return undefined;
    } catch (error) {
      const isTaken = error instanceof KubeError && error.reason === 'AlreadyExists';
      const existing = isTaken ? await this.#find(object, secretNameOf(object, spec), id) : undefined;
      if (!existing) throw error;
      return existing;
    }
  }

  /** @throws Blocked when the Secret of that name belongs to something else */
  async #find(object: KubeObject, name: string, id?: string): Promise<KubeObject | undefined> {
    const found = await this.#secrets.find(name, object.metadata.namespace);
    if (!found || isOurs(found, object, id)) return found;
    const held = releasedCredential(found);
    throw secretConflict(found, object, held !== undefined && (await this.#mayExist(held)));
  }

  /** The object's Secrets under names other than `name`. */
  async #findFormer(object: KubeObject, name: string | undefined): Promise<KubeObject[]> {
    const found: KubeObject[] = [];
    for (const former of this.#formerNames(object, name)) {
      const secret = await this.#secrets.find(former, object.metadata.namespace);
      if (secret?.type === SECRET_TYPE && isOwnedBy(secret, object)) found.push(secret);
    }
    return found;
  }

  #formerNames(object: KubeObject, name: string | undefined): string[] {
    return formerNames(object, this.#secrets.ownedBy(object.metadata.uid), name);
  }

  /** According to the cache. */
  #isIntact(object: KubeObject, spec: SecretSpec, id: string): boolean {
    return isIntact(this.#secrets.cached(object, secretNameOf(object, spec)), object, spec, id);
  }
}
