/** The content of a Secret: writing it from the spec, reading it back, and detecting manual edits. Pure. */
import { z } from 'zod';
import { sha256Hex } from '../../../resources/formats/sha256.ts';
import { ANNOTATION, API_VERSION, MANAGED_BY } from '../../contract/names.ts';
import { annotation, type KubeObject, type OwnerReference } from '../../kube/kube-object.ts';
import type { Handout } from '../declaration/handout.ts';
import { readStatus } from '../identity/recorded-status.ts';
import { decode, encode, encodedData, idIn } from './data.ts';
import { isOwnedBy } from './ownership.ts';
import type { CachedSecret } from './secret-cache.ts';

export interface SecretSpec {
  secret: {
    name?: string | undefined;
    key: string;
    template?:
      | { labels?: Record<string, string> | undefined; annotations?: Record<string, string> | undefined }
      | undefined;
  };
}

/** A Secret that has the bare name of its object, as all had once, keeps it. */
export function secretNameOf(handout: Pick<Handout, 'suffix'>, object: KubeObject, spec: SecretSpec): string {
  const { name } = object.metadata;
  const isBare = readStatus(object).secretName === name;
  return spec.secret.name ?? (isBare ? name : defaultSecretName(handout, object));
}

export function defaultSecretName({ suffix }: Pick<Handout, 'suffix'>, { metadata }: KubeObject): string {
  return `${metadata.name}${suffix}`;
}

/** A value with the resource that hands it out. */
export interface Handed extends Issue {
  value: string;
}

/** Which value: that of a resource or, if the resource can issue several, the one issued at this time. */
export interface Issue {
  id: string;
  issuedAt?: string | undefined;
}

/** Whether the Secret is as it was written, for this issue and from this template; with this value, if it is known. */
export function isIntact(
  handout: Handout,
  cached: CachedSecret | undefined,
  object: KubeObject,
  spec: SecretSpec,
  { id, issuedAt, value }: Issue & { value?: string | undefined },
): boolean {
  if (!cached || !isOwnedBy(cached.object, object)) return false;
  const { metadata } = cached.object;
  const wanted = secretMetadata(spec);
  const has = (actual: Record<string, string> = {}, expected: Record<string, string>) =>
    Object.entries(expected).every(([name, value]) => actual[name] === value);
  return (
    cached.object.type === handout.secretType &&
    cached.digests[handout.idKey] === sha256Hex(id) &&
    (issuedAt === undefined || metadata.annotations?.[ANNOTATION.issuedAt] === issuedAt) &&
    (value === undefined || cached.digests[spec.secret.key] === sha256Hex(value)) &&
    cached.digests[spec.secret.key] !== undefined &&
    cached.digests[spec.secret.key] === metadata.annotations?.[ANNOTATION.tokenSha256] &&
    Object.keys(cached.digests).length === 2 &&
    // An empty template has no marker; the Secret must then have none either.
    metadata.annotations?.[ANNOTATION.template] === wanted.annotations[ANNOTATION.template] &&
    has(metadata.labels, wanted.labels) &&
    has(metadata.annotations, wanted.annotations)
  );
}

/** The value in the Secret, if it is of this issue and unaltered. */
export function storedValue(
  handout: Handout,
  existing: KubeObject | undefined,
  { id, issuedAt }: Issue,
): string | undefined {
  if (!existing || idIn(existing, handout) !== id) return undefined;
  if (issuedAt !== undefined && annotation(existing, ANNOTATION.issuedAt) !== issuedAt) return undefined;
  const digest = annotation(existing, ANNOTATION.tokenSha256);
  const others = Object.entries(encodedData(existing)).filter(([key]) => key !== handout.idKey);
  return others.map(([, value]) => decode(value)).find((value) => sha256Hex(value) === digest);
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

/** The marker of an empty template, which is not written. */
const NO_TEMPLATE = JSON.stringify({ labels: [], annotations: [] });
const templateKeys = z.object({ labels: z.array(z.string()), annotations: z.array(z.string()) });

export type SecretBody = ReturnType<typeof secretBody>;

/** The body of a create, or of a merge patch that brings `existing` in line. */
export function secretBody(
  handout: Handout,
  object: KubeObject,
  spec: SecretSpec,
  { id, issuedAt, value }: Handed,
  existing?: KubeObject,
) {
  const owner: OwnerReference = {
    apiVersion: API_VERSION,
    kind: object.kind ?? '',
    name: object.metadata.name,
    uid: object.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  const { labels, annotations } = secretMetadata(spec);
  const data = { [spec.secret.key]: encode(value), [handout.idKey]: encode(id) };
  const before = existing && leftBehind(existing, { labels, annotations, data });
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: handout.secretType,
    metadata: {
      name: secretNameOf(handout, object, spec),
      ...(existing ? { uid: existing.metadata.uid, resourceVersion: existing.metadata.resourceVersion } : {}),
      labels: { ...before?.labels, ...labels },
      annotations: {
        ...before?.annotations,
        ...annotations,
        [ANNOTATION.tokenSha256]: sha256Hex(value),
        ...(issuedAt !== undefined && { [ANNOTATION.issuedAt]: issuedAt }),
      },
      ownerReferences: [owner],
    },
    data: { ...before?.data, ...data },
  };
}

/** What a merge patch must set to null: data under other keys, and labels and annotations dropped from the template. */
function leftBehind(existing: KubeObject, wanted: { labels: object; annotations: object; data: object }) {
  const marker = annotation(existing, ANNOTATION.template) ?? NO_TEMPLATE;
  const keys = templateKeys.catch({ labels: [], annotations: [] }).parse(parseJson(marker));
  const gone = (names: string[], kept: object) =>
    Object.fromEntries(names.filter((name) => !Object.hasOwn(kept, name)).map((name) => [name, null]));
  return {
    labels: gone(keys.labels, wanted.labels),
    annotations: gone([...keys.annotations, ANNOTATION.template], wanted.annotations),
    data: gone(Object.keys(encodedData(existing)), wanted.data),
  };
}

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}
