/** The data of a Secret as Kubernetes encodes it: base64 of UTF-8. Pure. */
import { z } from 'zod';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { Handout } from '../declaration/handout.ts';

const secretData = z.record(z.string(), z.string());

/** Every member, still encoded; empty if there is none, or it is malformed. */
export function encodedData(secret: KubeObject): Record<string, string> {
  return secretData.safeParse(secret.data).data ?? {};
}

/** The id of the resource whose value the Secret holds. */
export function idIn(secret: KubeObject, { idKey }: Pick<Handout, 'idKey'>): string | undefined {
  const value = encodedData(secret)[idKey];
  return value === undefined ? undefined : decode(value);
}

export function encode(value: string): string {
  return Buffer.from(value, 'utf8').toString('base64');
}

export function decode(value: string): string {
  return Buffer.from(value, 'base64').toString('utf8');
}
