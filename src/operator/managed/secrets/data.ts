/** The data of a Secret as Kubernetes encodes it: base64 of UTF-8. Pure. */
import { z } from 'zod';
import type { KubeObject } from '../../kube/kube-object.ts';

/** The key of the credential's id, next to its token. */
export const CREDENTIAL_ID_KEY = 'credential-id';

const secretData = z.record(z.string(), z.string());

/** Every member, still encoded; empty if the data is malformed. */
export function encodedData(secret: KubeObject): Record<string, string> {
  return secretData.safeParse(secret.data ?? {}).data ?? {};
}

/** The id of the credential whose token the Secret holds. */
export function credentialIn(secret: KubeObject): string | undefined {
  const value = encodedData(secret)[CREDENTIAL_ID_KEY];
  return value === undefined ? undefined : decode(value);
}

export function encode(value: string): string {
  return Buffer.from(value, 'utf8').toString('base64');
}

export function decode(value: string): string {
  return Buffer.from(value, 'base64').toString('utf8');
}
