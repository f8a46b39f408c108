/** Secrets that somebody has made immutable: no other token can ever be stored in them. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { REASON } from '../../contract/reasons.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { Blocked } from '../external.ts';
import { encodedData } from './data.ts';

/**
 * @param data what it is to hold; undefined for what is not known yet
 * @throws Blocked when it would have to change and cannot
 */
export function mustBeWritable(existing: KubeObject, data?: Readonly<Record<string, unknown>>): void {
  if (existing.immutable !== true || isDeepStrictEqual(encodedData(existing), data)) return;
  const remedies = 'delete the Secret, or set spec.secret.name to another name';
  throw new Blocked(
    REASON.secretConflict,
    `Secret ${existing.metadata.name} is immutable, and has to change: ${remedies}`,
  );
}
