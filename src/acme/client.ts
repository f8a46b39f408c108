/** A client of a certificate authority that speaks ACME (RFC 8555). It keeps no state but the directory and spare nonces. */
import { AcmeError } from './errors.ts';
import { type AccountKey, bindExternalAccount, type ExternalAccount } from './jose.ts';
import { type Authorization, authorization, type Directory, directory, order, renewalInfo } from './objects.ts';
import { type Account, type AcmeResponse, createTransport, read, type TransportOptions } from './transport.ts';

export interface ClientOptions extends TransportOptions {
  directoryUrl: string;
}

export interface Order {
  readonly url: string;
  /** pending, ready, processing, valid or invalid; others may be added. */
  readonly status: string;
  readonly authorizations: readonly string[];
  /** Where the certificate is, once the status is valid. */
  readonly certificate: string | undefined;
  /** Where a certificate is asked for, once the status is ready. */
  readonly finalize: string;
  /** Why the order is invalid. */
  readonly error: AcmeError | undefined;
  /** How long the authority asks the client to wait before the next look. */
  readonly retryAfterMs: number | null;
}

export interface RenewalWindow {
  start: Date;
  end: Date;
  /** When the authority wants to be asked again, in milliseconds from now. */
  retryAfterMs: number | null;
}

/** All methods throw AcmeError. */
export interface AcmeClient {
  directory(): Promise<Directory>;
  /** Makes an account, or finds the one with this key. Agrees to the terms of service. Returns its URL. */
  register(
    key: AccountKey,
    wanted: { contacts: readonly string[]; external?: ExternalAccount | undefined },
  ): Promise<string>;
  /**
   * @param profile the kind of certificate, where the authority has several
   * @param replaces identifies the certificate that is renewed (`certificateId`)
   */
  newOrder(
    account: Account,
    wanted: { names: readonly string[]; profile?: string | undefined; replaces?: string | undefined },
  ): Promise<Order>;
  order(account: Account, url: string): Promise<Order>;
  authorization(account: Account, url: string): Promise<Authorization>;
  /** Tells the authority that a challenge can be validated. */
  answer(account: Account, challengeUrl: string): Promise<void>;
  /** @param csr PKCS #10 in DER */
  finalize(account: Account, order: Order, csr: Uint8Array): Promise<Order>;
  /** The chain in PEM, the certificate itself first. */
  download(account: Account, certificateUrl: string): Promise<string>;
  /** When a certificate should be renewed (RFC 9773); undefined if the authority does not say. */
  renewalWindow(certificateId: string): Promise<RenewalWindow | undefined>;
  close(): Promise<void>;
}

export function createAcmeClient({ directoryUrl, ...options }: ClientOptions): AcmeClient {
  const transport = createTransport(options);
  let known: Promise<Directory> | undefined;
  let knownAt = 0;

  function findDirectory(): Promise<Directory> {
    if (Date.now() - knownAt > DIRECTORY_MS) {
      known = undefined;
      knownAt = Date.now();
    }
    known ??= transport.get(directoryUrl).then((response) => read(directory, response));
    // A failure is not remembered.
    known.catch(() => {
      known = undefined;
    });
    return known;
  }
  const post = async (url: string, by: Account | AccountKey, payload?: object) =>
    transport.post(url, (await findDirectory()).newNonce, by, payload);

  const orderAt = async (url: string, response: Awaited<ReturnType<typeof post>>): Promise<Order> => {
    const { status, authorizations, certificate, finalize, error } = read(order, response);
    const { retryAfterMs } = response;
    const { type = null, detail = 'the authority gives no reason', subproblems = [] } = error ?? {};
    const problem = error && new AcmeError({ type, detail, subproblems, status: null, retryAfterMs: null });
    return { url, status, authorizations, certificate, finalize, error: problem, retryAfterMs };
  };

  return {
    directory: findDirectory,
    async register(key, { contacts, external }) {
      const { newAccount } = await findDirectory();
      const response = await post(newAccount, key, {
        termsOfServiceAgreed: true,
        ...(contacts.length > 0 && { contact: contacts }),
        ...(external && { externalAccountBinding: bindExternalAccount(external, key, newAccount) }),
      });
      return located(response);
    },
    async newOrder(account, { names, profile, replaces }) {
      const { newOrder } = await findDirectory();
      const response = await post(newOrder, account, {
        identifiers: names.map((value) => ({ type: 'dns', value })),
        ...(profile !== undefined && { profile }),
        ...(replaces !== undefined && { replaces }),
      });
      return orderAt(located(response), response);
    },
    order: async (account, url) => orderAt(url, await post(url, account)),
    authorization: async (account, url) => read(authorization, await post(url, account)),
    async answer(account, challengeUrl) {
      await post(challengeUrl, account, {});
    },
    finalize: async (account, { url, finalize }, csr) =>
      orderAt(url, await post(finalize, account, { csr: Buffer.from(csr).toString('base64url') })),
    download: async (account, certificateUrl) => (await post(certificateUrl, account)).text,
    async renewalWindow(certificateId) {
      const { renewalInfo: base } = await findDirectory();
      if (base === undefined) return undefined;
      const response = await transport.get(`${base}/${certificateId}`);
      return { ...read(renewalInfo, response).suggestedWindow, retryAfterMs: response.retryAfterMs };
    },
    close: transport.close,
  };
}

/** How long the addresses in the directory are used before it is read again. */
const DIRECTORY_MS = 3_600_000;

function located({ url, location, status }: AcmeResponse): string {
  const found = location === undefined ? null : URL.parse(location, url);
  if (found) return found.href;
  const detail = 'the authority did not say where the new object is';
  throw new AcmeError({ type: null, status, detail, subproblems: [], retryAfterMs: null });
}
