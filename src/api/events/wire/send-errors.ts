/** Why there was no answer, in a sentence without secrets. */
import { errors } from 'undici';
import { codeOf, messageOf } from '../../../errors.ts';
import { ForbiddenAddress } from '../../../outbound/address-guard.ts';

/** This side has ended the request. */
export class Stopped extends Error {}

/** The connection ended although nothing was wrong with it. */
export const isConnectionLost = (error: unknown) => LOST.includes(codeOf(error) ?? '');
const LOST = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'];

const NO_HTTP = 'the answer is not valid HTTP';

const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the receiver closed the connection without an answer',
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name could not be looked up',
  EHOSTUNREACH: 'there is no route to the receiver',
  ENETUNREACH: 'there is no route to the receiver',
  ETIMEDOUT: 'the receiver could not be reached in time',
  UND_ERR_CONNECT_TIMEOUT: 'the receiver could not be reached in time',
  UND_ERR_SOCKET: 'the receiver closed the connection without an answer',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too long',
  ERR_ASSERTION: NO_HTTP,
  ...Object.fromEntries(
    [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ].map((code) => [code, 'no known authority has issued the certificate; NODE_EXTRA_CA_CERTS may add one']),
  ),
};

/** What a failed request is told by. */
export function causeOf(error: unknown): string {
  if (error instanceof ForbiddenAddress || error instanceof Stopped) return error.message;
  const code = codeOf(error) ?? '';
  if (error instanceof errors.HTTPParserError) return NO_HTTP;
  // OpenSSL gives the place in its source, too.
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return `TLS could not be agreed upon (${code})`;
  return CAUSES[code] ?? `${messageOf(error)}${code === '' ? '' : ` (${code})`}`;
}
