/** Which management API `export` and `plan` use, and with which key: those of the settings, or of an APIConnection. */
import { type Client, type ClientOptions, createClient } from '../../client/client.ts';
import { createAgent } from '../../client/transport.ts';
import { CannotStart } from '../../settings/cannot-start.ts';
import { apiKeyText } from '../../settings/schemas.ts';
import { BadSettings } from '../../settings/settings.ts';
import { apiConnectionKind } from '../connections/connection-kinds.ts';
import { certificatesIn } from '../connections/connection-url.ts';
import { CONNECTION_KIND } from '../contract/names.ts';
import type { KubeApi } from '../kube/kube-api.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { Blocked } from '../managed/declaration/external.ts';
import { readSpec } from '../managed/declaration/spec.ts';
import { OPERATORS_OWN, shownConnection, writeConnection } from '../managed/identity/recorded-connection.ts';
import { decode, encodedData } from '../managed/secrets/data.ts';
import { SECRETS } from '../managed/secrets/secret-cache.ts';

export interface ApiChoice {
  /** Both are set unless there is a connection; a connection may have another URL. */
  apiUrl: string | undefined;
  apiKey: string | undefined;
  apiTimeoutMs: number;
  /** That a platform admin's key is to act in; default: that of the key. */
  account?: string | undefined;
  /** An APIConnection, as in `shop/default`. */
  connection?: string | undefined;
}

export interface ChosenApi {
  url: string;
  client: Client;
  close(): Promise<void>;
}

/**
 * @param kube reads the connection and its Secret
 * @throws BadSettings if there is no URL, or the connection is not named as it should be; CannotStart if it cannot be used;
 *   KubeError, KubeUnreachableError
 */
export async function openApi(
  { connection, account, apiTimeoutMs: timeoutMs, ...given }: ApiChoice,
  kube: () => Pick<KubeApi, 'find'>,
  options: Pick<ClientOptions, 'userAgent' | 'admit'>,
): Promise<ChosenApi> {
  const read = connection === undefined ? undefined : await readConnection(kube(), connection);
  const { apiUrl: url, apiKey } = { ...given, ...read };
  if (url === undefined || apiKey === undefined)
    throw new BadSettings(`TUNNEL_API_URL is required: ${CONNECTION_KIND.own} ${connection} has no spec.url`);
  const agent = read?.caBundle === undefined ? undefined : createAgent({ connect: { ca: read.caBundle } });
  const client = createClient({ baseUrl: url, apiKey, account, timeoutMs, ...(agent && { agent }), ...options });
  const close = async () => {
    await client.close();
    await agent?.close();
  };
  return { url, client, close };
}

interface ReadConnection {
  apiUrl?: string;
  apiKey: string;
  caBundle: string[] | undefined;
}

async function readConnection(kube: Pick<KubeApi, 'find'>, given: string): Promise<ReadConnection> {
  const [namespace, name, ...more] = given.split('/');
  if (!namespace || !name || more.length > 0)
    throw new BadSettings(
      `--connection is ${JSON.stringify(given)}, but must be a namespace and a name, as in shop/default`,
    );
  const subject = `${CONNECTION_KIND.own} ${given}`;
  const object = await kube.find(apiConnectionKind.type, name, namespace);
  if (!object) throw new CannotStart(`${subject} does not exist`);
  try {
    const { url, apiKeySecretRef, caBundle } = readSpec(apiConnectionKind.spec, object);
    const secret = await kube.find(SECRETS, apiKeySecretRef.name, namespace);
    const encoded = secret && encodedData(secret)[apiKeySecretRef.key];
    const apiKey = apiKeyText.safeParse(encoded && decode(encoded)).data;
    if (apiKey === undefined) {
      const key = JSON.stringify(apiKeySecretRef.key);
      throw new CannotStart(`${subject}: Secret ${apiKeySecretRef.name} does not exist, or has no API key in ${key}`);
    }
    const ca = caBundle === undefined ? undefined : certificatesIn(caBundle);
    return { ...(url !== undefined && { apiUrl: url }), apiKey, caBundle: ca };
  } catch (error) {
    if (error instanceof Blocked) throw new CannotStart(`${subject}: ${error.message}`);
    throw error;
  }
}

/** What has to be given for the object's own account, if that is another one; undefined otherwise. */
export function otherChoice(
  { account, connection }: Pick<ApiChoice, 'account' | 'connection'>,
  object: KubeObject,
): string | undefined {
  const used = shownConnection(object);
  if (used === undefined) return undefined;
  const isOperators = account === undefined && connection === undefined;
  if (used === OPERATORS_OWN) return isOperators ? undefined : "the operator's own API key, and no account";
  if (used.kind === CONNECTION_KIND.account)
    return used.account === account ? undefined : `--account ${used.account}, which is ${writeConnection(used)}`;
  const { namespace } = object.metadata;
  if (used.kind === CONNECTION_KIND.shared) return `the API key of ${writeConnection(used)}`;
  const own = `${namespace}/${used.name}`;
  return connection === own ? undefined : `--connection ${own}`;
}
