/** Through which connection an object's resource was created, as its status and annotations record it. Pure. */
import { ANNOTATION, CONNECTION_KIND } from '../../contract/names.ts';
import { annotation, type KubeObject } from '../../kube/kube-object.ts';
import { isBegun, readIdentity } from './identity.ts';
import { readStatus } from './recorded-status.ts';

/** A connection as a spec names it. */
export interface ConnectionName {
  kind: (typeof CONNECTION_KIND)[keyof typeof CONNECTION_KIND];
  name: string;
  /** In the record of an object whose connection is an Account: the id that it had. A resource never moves to another account. */
  account?: string;
}

/** The connection with the operator's own API key, which has no object. */
export const OPERATORS_OWN = 'operator';

export type UsedConnection = ConnectionName | typeof OPERATORS_OWN;

/** As in `APIConnection/default`. */
export const writeConnection = ({ kind, name }: ConnectionName) => `${kind}/${name}`;

/** The same, with the id of an Account: `Account/payments/acc_…`. */
export const recordOf = (connection: ConnectionName) =>
  [writeConnection(connection), ...(connection.account === undefined ? [] : [connection.account])].join('/');

/** The connection that the status shows; undefined if the status shows no resource. Only the operator writes the status. */
export function shownConnection(object: KubeObject): UsedConnection | undefined {
  const { connection, id } = readStatus(object);
  return readConnection(connection) ?? (id === undefined ? undefined : OPERATORS_OWN);
}

/** The connection that the annotations name, which users can edit; undefined if nothing was created yet. */
export function annotatedConnection(object: KubeObject): UsedConnection | undefined {
  const named = readConnection(annotation(object, ANNOTATION.connection));
  return named ?? (isBegun(readIdentity(object)) ? OPERATORS_OWN : undefined);
}

function readConnection(text: string | undefined): ConnectionName | undefined {
  const [written = '', name = '', account, ...more] = text?.split('/') ?? [];
  const kind = Object.values(CONNECTION_KIND).find((each) => each === written);
  const isWhole = name !== '' && more.length === 0 && (account === undefined || kind === CONNECTION_KIND.account);
  return kind && isWhole ? { kind, name, ...(account !== undefined && { account }) } : undefined;
}
