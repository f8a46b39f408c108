/** A value that a resource hands out and a Secret stores: a token, a signing secret, a certificate. */
import { GROUP, SECRET_TYPE } from '../../contract/names.ts';

export interface Handout {
  /** In messages, as in `token`. */
  readonly what: string;
  /** The type of its Secrets. */
  readonly secretType: string;
  /** Ends the name of a Secret whose name the spec does not set: objects of several kinds may have one name. */
  readonly suffix: string;
  /** The key of the resource's id, next to the value: `credential-id`. */
  readonly idKey: string;
  /** The key of the value, unless the spec sets another. */
  readonly key: string;
  /** The member of the resource that has it. */
  readonly member: string;
  /** The member that says when it was issued, if the resource can issue several, one after the other. */
  readonly issuedMember?: string;
  /** Whether only the response to the create contains it, so that it can be lost. Otherwise, every response does. */
  readonly isOneTime: boolean;
}

/** @param family the resources' family, which names the key of the id */
export function handout(
  family: { readonly name: string },
  about: Omit<Handout, 'secretType' | 'suffix' | 'idKey'> & { type: keyof typeof SECRET_TYPE },
): Handout {
  const { type, ...rest } = about;
  const secretType = SECRET_TYPE[type];
  const suffix = type === 'authtoken' ? '' : secretType.replace(`${GROUP}/`, '-');
  return { ...rest, secretType, suffix, idKey: `${family.name.replaceAll('_', '-')}-id` };
}

/** The value in a response; undefined if the response does not contain it. */
export function valueIn({ member }: Handout, remote: object): string | undefined {
  return textIn(remote, member);
}

/** When the value that is in use was issued; undefined if a resource has only one. */
export function issuedAtIn({ issuedMember }: Handout, remote: object): string | undefined {
  return issuedMember === undefined ? undefined : textIn(remote, issuedMember);
}

function textIn(remote: object, member: string): string | undefined {
  const value: unknown = new Map<string, unknown>(Object.entries(remote)).get(member);
  return typeof value === 'string' ? value : undefined;
}
