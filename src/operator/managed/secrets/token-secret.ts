/** The Secret that holds a credential's token: whose it is, what is in it, and when it must be written. */
import { z } from 'zod';
import type { credential } from '../../../resources/credential.ts';
import type { View } from '../../../resources/definition/resource.ts';
import { sha256Hex } from '../../../resources/formats/sha256.ts';
import { ANNOTATION, API_VERSION, MANAGED_BY, SECRET_TYPE } from '../../contract/names.ts';
import { REASON } from '../../contract/reasons.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { annotation, type KubeObject, type OwnerReference } from '../../kube/kube-object.ts';
import { Blocked, type Delivery } from '../external.ts';
import { readIdentity } from '../identity.ts';
import type { SecretAccess } from '../kind.ts';
import { decideRotation, type RotationSpec } from '../rotation.ts';
import { readStatus } from '../spec.ts';
import { SECRETS } from './secret-cache.ts';

type Credential = View<typeof credential>;

export interface SecretSpec extends RotationSpec {
  secret: {
    name?: string | undefined;
    key: string;
    template?:
      | { labels?: Record<string, string> | undefined; annotations?: Record<string, string> | undefined }
      | undefined;
  };
}

const ID_KEY = 'credential-id';
const secretData = z.record(z.string(), z.string());

export function secretNameOf(object: KubeObject, spec: SecretSpec): string {
  return spec.secret.name ?? object.metadata.name;
}

export function tokenSecret(secrets: SecretAccess): Delivery<SecretSpec, Credential> {
  const find = async (object: KubeObject, name: string, id?: string) => {
    const found = await secrets.kube.find(SECRETS, name, object.metadata.namespace);
    if (found) mustBeOurs(found, object, id);
    return found;
  };

  return {
    async prepare(object, spec) {
      await find(object, secretNameOf(object, spec));
    },

    async deliver(object, spec, remote) {
      const name = secretNameOf(object, spec);
      const { namespace = '' } = object.metadata;
      if (remote.token === null && formerNames(secrets, object, name).length === 0) {
        if (isIntact(secrets, object, spec, remote.id)) return 'held';
      }
      // A new token goes straight into a new Secret, the usual case; one that exists all the same shows as a conflict.
      const mayExist = remote.token === null || secrets.cached(namespace, name) !== undefined;
      let existing = mayExist ? await find(object, name, remote.id) : undefined;
      const former = await findFormer(secrets, object, name);
      const token = remote.token ?? [existing, ...former].map((secret) => tokenIn(secret, remote.id)).find(Boolean);
      if (token === undefined) return 'lost';
      if (!existing) {
        existing = await createOrFind(
          secrets,
          secretBody(object, spec, remote.id, token),
          () => find(object, name, remote.id),
          namespace,
        );
      }
      if (existing) {
        const body = secretBody(object, spec, remote.id, token, existing);
        secrets.observeWrite(await secrets.kube.patch(SECRETS, name, body, namespace));
      }
      for (const secret of former) {
        await secrets.kube.delete(SECRETS, secret.metadata.name, namespace, { uid: secret.metadata.uid });
        secrets.observeDelete(secret);
      }
      return 'held';
    },

    looksHeld(object, spec) {
      const { externalId } = readIdentity(object);
      return (
        externalId !== undefined &&
        formerNames(secrets, object, secretNameOf(object, spec)).length === 0 &&
        isIntact(secrets, object, spec, externalId)
      );
    },

    renewal: (object, spec, remote, now) => decideRotation(object, spec, remote.created_at, now),

    async release(object) {
      const { uid: owner, namespace } = object.metadata;
      for (const name of formerNames(secrets, object, undefined)) {
        const existing = await secrets.kube.find(SECRETS, name, namespace);
        if (!existing || !isOwnedBy(existing, object)) continue;
        const { uid, resourceVersion, ownerReferences = [] } = existing.metadata;
        const others = ownerReferences.filter((reference) => reference.uid !== owner);
        const body = { metadata: { uid, resourceVersion, ownerReferences: others } };
        secrets.observeWrite(await secrets.kube.patch(SECRETS, name, body, namespace));
      }
    },
  };
}

/** Undefined when it was created, else the Secret that was there already. */
async function createOrFind(
  secrets: SecretAccess,
  body: unknown,
  find: () => Promise<KubeObject | undefined>,
  namespace: string,
): Promise<KubeObject | undefined> {
  try {
    secrets.observeWrite(await secrets.kube.create(SECRETS, body, namespace));
    return undefined;
  } catch (error) {
    const existing = error instanceof KubeError && error.reason === 'AlreadyExists' ? await find() : undefined;
    if (!existing) throw error;
    return existing;
  }
}

/**
 * Names other than `name` under which the object may have a Secret: the one that the status knows, and, since a crash
 * can come before the status, every one that is its own.
 */
function formerNames(secrets: SecretAccess, object: KubeObject, name: string | undefined): string[] {
  const { secretName } = readStatus(object);
  const known = typeof secretName === 'string' ? [secretName] : [];
  const all = new Set([...known, ...secrets.ownedBy(object.metadata.uid)]);
  return [...all].filter((former) => former !== name);
}

/** The object's Secrets under former names. */
async function findFormer(secrets: SecretAccess, object: KubeObject, name: string): Promise<KubeObject[]> {
  const found: KubeObject[] = [];
  for (const former of formerNames(secrets, object, name)) {
    const secret = await secrets.kube.find(SECRETS, former, object.metadata.namespace);
    if (secret?.type === SECRET_TYPE && isOwnedBy(secret, object)) found.push(secret);
  }
  return found;
}

/** Whether the cache shows the Secret as it was written, for this credential and from this template. */
function isIntact(secrets: SecretAccess, object: KubeObject, spec: SecretSpec, id: string): boolean {
  const cached = secrets.cached(object.metadata.namespace ?? '', secretNameOf(object, spec));
  if (!cached || !isOwnedBy(cached.object, object)) return false;
  const { metadata } = cached.object;
  const wanted = secretMetadata(spec);
  const has = (actual: Record<string, string> = {}, expected: Record<string, string>) =>
    Object.entries(expected).every(([name, value]) => actual[name] === value);
  return (
    cached.digests[ID_KEY] === sha256Hex(id) &&
    cached.digests[spec.secret.key] !== undefined &&
    cached.digests[spec.secret.key] === metadata.annotations?.[ANNOTATION.tokenSha256] &&
    Object.keys(cached.digests).length === 2 &&
    // An emptied template has no marker; the Secret must have none then either.
    metadata.annotations?.[ANNOTATION.template] === wanted.annotations[ANNOTATION.template] &&
    has(metadata.labels, wanted.labels) &&
    has(metadata.annotations, wanted.annotations)
  );
}

/** The token in a Secret of ours, if it is this credential's and unaltered. */
function tokenIn(existing: KubeObject | undefined, id: string): string | undefined {
  if (!existing) return undefined;
  const data = secretData.safeParse(existing.data ?? {}).data ?? {};
  const values = Object.entries(data).map(
    ([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')] as const,
  );
  if (!values.some(([key, value]) => key === ID_KEY && value === id)) return undefined;
  const digest = annotation(existing, ANNOTATION.tokenSha256);
  return values.find(([key, value]) => key !== ID_KEY && sha256Hex(value) === digest)?.[1];
}

/** @throws Blocked when the Secret is somebody else's, or has a token that this object knows nothing of */
function mustBeOurs(existing: KubeObject, object: KubeObject, id?: string): void {
  if (isOwnedBy(existing, object) || isOfPredecessor(existing, object)) return;
  const { externalId, retiring } = readIdentity(object);
  const held =
    existing.type === SECRET_TYPE && !existing.metadata.ownerReferences?.length ? credentialIn(existing) : undefined;
  if (held !== undefined && [id, externalId, ...retiring.map((entry) => entry.id)].includes(held)) return;
  const { name } = existing.metadata;
  const remedy = held
    ? `has the token of ${held}: set the annotation ${ANNOTATION.adopt} to that, delete the Secret, or set spec.secret.name`
    : 'does not belong to this object; delete it or set spec.secret.name';
  throw new Blocked(REASON.secretConflict, `Secret ${name} exists and ${remedy}`);
}

function isOwnedBy(existing: KubeObject, object: KubeObject): boolean {
  return existing.metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid) ?? false;
}

/** Of our type, and of an object of the same name: restored from a backup, with this object under a new UID. */
function isOfPredecessor(existing: KubeObject, object: KubeObject): boolean {
  const owners = existing.metadata.ownerReferences ?? [];
  const isPredecessor = (owner: OwnerReference) => owner.kind === object.kind && owner.name === object.metadata.name;
  return existing.type === SECRET_TYPE && owners.length > 0 && owners.every(isPredecessor);
}

function credentialIn(existing: KubeObject): string | undefined {
  const value = secretData.safeParse(existing.data ?? {}).data?.[ID_KEY];
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
}

function secretMetadata(spec: SecretSpec) {
  const { labels = {}, annotations = {} } = spec.secret.template ?? {};
  const keys = JSON.stringify({ labels: Object.keys(labels).sort(), annotations: Object.keys(annotations).sort() });
  const marker: Record<string, string> = keys === NO_TEMPLATE ? {} : { [ANNOTATION.template]: keys };
  return {
    labels: { ...labels, [MANAGED_BY.label]: MANAGED_BY.value },
    annotations: { ...annotations, ...marker },
  };
}

const NO_TEMPLATE = JSON.stringify({ labels: [], annotations: [] });
const templateKeys = z.object({ labels: z.array(z.string()), annotations: z.array(z.string()) });

/** The body of a create, or of a merge patch that makes `existing` the same. */
function secretBody(object: KubeObject, spec: SecretSpec, id: string, token: string, existing?: KubeObject) {
  const owner: OwnerReference = {
    apiVersion: API_VERSION,
    kind: object.kind ?? '',
    name: object.metadata.name,
    uid: object.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  const { labels, annotations } = secretMetadata(spec);
  const encode = (value: string) => Buffer.from(value, 'utf8').toString('base64');
  const data = { [spec.secret.key]: encode(token), [ID_KEY]: encode(id) };
  const before = existing && leftBehind(existing, { labels, annotations, data });
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: SECRET_TYPE,
    metadata: {
      name: secretNameOf(object, spec),
      ...(existing ? { uid: existing.metadata.uid, resourceVersion: existing.metadata.resourceVersion } : {}),
      labels: { ...before?.labels, ...labels },
      annotations: { ...before?.annotations, ...annotations, [ANNOTATION.tokenSha256]: sha256Hex(token) },
      ownerReferences: [owner],
    },
    data: { ...before?.data, ...data },
  };
}

/** What a merge patch must set to null: data under other keys, and labels and annotations that left the template. */
function leftBehind(existing: KubeObject, wanted: { labels: object; annotations: object; data: object }) {
  const marker = annotation(existing, ANNOTATION.template) ?? NO_TEMPLATE;
  const keys = templateKeys.catch({ labels: [], annotations: [] }).parse(parseJson(marker));
  const gone = (names: string[], kept: object) =>
    Object.fromEntries(names.filter((name) => !(name in kept)).map((name) => [name, null]));
  return {
    labels: gone(keys.labels, wanted.labels),
    annotations: gone([...keys.annotations, ANNOTATION.template], wanted.annotations),
    data: gone(Object.keys(secretData.catch({}).parse(existing.data ?? {})), wanted.data),
  };
}

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}
