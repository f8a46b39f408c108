/** Secrets that cannot be written as required: immutable, of another type, being deleted, or altered when stored. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { REASON } from '../../contract/reasons.ts';
import { alteredMembers } from '../../kube/altered-members.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { Blocked } from '../declaration/external.ts';
import type { Handout } from '../declaration/handout.ts';
import type { SecretBody } from './content.ts';
import { encodedData } from './data.ts';

/**
 * @param data the desired data; undefined while the value is not known
 * @throws Blocked when the Secret would have to change and cannot
 */
export function requireWritable(existing: KubeObject, data?: Readonly<Record<string, unknown>>): void {
  const { name, deletionTimestamp } = existing.metadata;
  if (deletionTimestamp !== undefined) {
    throw new Blocked(REASON.secretConflict, `Secret ${name} is being deleted; it is written anew once it is gone`);
  }
  if (existing.immutable !== true || isDeepStrictEqual(encodedData(existing), data)) return;
  throw unwritable(existing, 'is immutable, and has to change');
}

/**
 * A webhook that alters the value or its digest would make every reconcile issue another token.
 * @param stored the Secret as the API server stored it, or would store it in a dry run
 * @throws Blocked naming the altered fields
 */
export function requireUnaltered(sent: SecretBody, stored: KubeObject): void {
  const altered = alteredFields(sent, stored);
  if (altered.length === 0) return;
  const what = `${altered.join(', ')} of Secret ${sent.metadata.name} would not be stored as written`;
  const remedy = `exempt Secrets of the type ${sent.type} from the mutating webhook or policy that changes them`;
  throw new Blocked(REASON.kubernetesError, `${what}: ${remedy}`);
}

function alteredFields({ type, metadata, data }: SecretBody, stored: KubeObject): string[] {
  const { labels, annotations, ownerReferences = [] } = stored.metadata;
  const kept = encodedData(stored);
  const isOwned = metadata.ownerReferences.every(({ uid }) => ownerReferences.some((owner) => owner.uid === uid));
  return [
    ...(stored.type === type ? [] : ['type']),
    ...alteredMembers('metadata.labels', metadata.labels, labels),
    ...alteredMembers('metadata.annotations', metadata.annotations, annotations),
    ...(isOwned ? [] : ['metadata.ownerReferences']),
    ...alteredMembers('data', data, kept),
    ...Object.keys(kept).flatMap((key) => (Object.hasOwn(data, key) ? [] : [`data[${key}]`])),
  ];
}

const LONGEST_NAME = 253;

/** @throws Blocked when the name is too long, as only the default for an object with a long name can be */
export function requireName(name: string): void {
  if (name.length <= LONGEST_NAME) return;
  const what = `The default name of the Secret has ${name.length} characters, and Kubernetes allows ${LONGEST_NAME}`;
  throw new Blocked(REASON.kubernetesError, `${what}: set spec.secret.name to a shorter one`);
}

/** @throws Blocked when the type differs, which no patch can change */
export function requireSecretType({ secretType }: Pick<Handout, 'secretType'>, existing: KubeObject): void {
  if (existing.type === secretType) return;
  throw unwritable(existing, `has the type ${String(existing.type)}, and has to have the type ${secretType}`);
}

function unwritable({ metadata }: KubeObject, why: string): Blocked {
  const remedies = 'delete the Secret, or set spec.secret.name to another name';
  return new Blocked(REASON.secretConflict, `Secret ${metadata.name} ${why}: ${remedies}`);
}
