/** Secrets that can never be what they have to be: made immutable by somebody, or of another type. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { REASON } from '../../contract/reasons.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { Blocked } from '../external.ts';
import { encodedData } from './data.ts';
import type { Handout } from './handout.ts';

/**
 * @param data what it is to hold; undefined for what is not known yet
 * @throws Blocked when it would have to change and cannot
 */
export function mustBeWritable(existing: KubeObject, data?: Readonly<Record<string, unknown>>): void {
  if (existing.immutable !== true || isDeepStrictEqual(encodedData(existing), data)) return;
  throw unwritable(existing, 'is immutable, and has to change');
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
