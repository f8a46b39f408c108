/** Secrets that cannot be what they have to be: immutable, of another type, on their way out, or altered when stored. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { REASON } from '../../contract/reasons.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { Blocked } from '../declaration/external.ts';
import type { Handout } from '../declaration/handout.ts';
import type { SecretBody } from './content.ts';
import { encodedData } from './data.ts';

/**
 * @param data what it is to hold; undefined for what is not known yet
 * @throws Blocked when it would have to change and cannot
 */
export function mustBeWritable(existing: KubeObject, data?: Readonly<Record<string, unknown>>): void {
  const { name, deletionTimestamp } = existing.metadata;
  if (deletionTimestamp !== undefined) {
    throw new Blocked(REASON.secretConflict, `Secret ${name} is being deleted; it is written anew once it is gone`);
  }
  if (existing.immutable !== true || isDeepStrictEqual(encodedData(existing), data)) return;
  throw unwritable(existing, 'is immutable, and has to change');
}

/**
 * Whoever alters the value, or what tells whether it was altered, would have another one issued at every look.
 * @param stored the Secret that the API server has made of it, or would make
 * @throws Blocked naming what is not as it was sent
 */
export function mustBeUnaltered(sent: SecretBody, stored: KubeObject): void {
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

/** @param sent null for what is to go */
function alteredMembers(
  path: string,
  sent: Readonly<Record<string, string | null>>,
  stored: Readonly<Record<string, string>> = {},
): string[] {
  return Object.entries(sent).flatMap(([key, value]) => ((stored[key] ?? null) === value ? [] : [`${path}[${key}]`]));
}

/** @throws Blocked when it has a type that no patch can change */
export function mustBeOfType({ secretType }: Pick<Handout, 'secretType'>, existing: KubeObject): void {
  if (existing.type === secretType) return;
  throw unwritable(existing, `has the type ${String(existing.type)}, and has to have the type ${secretType}`);
}

function unwritable({ metadata }: KubeObject, why: string): Blocked {
  const remedies = 'delete the Secret, or set spec.secret.name to another name';
  return new Blocked(REASON.secretConflict, `Secret ${metadata.name} ${why}: ${remedies}`);
}
