/** What a job says of itself to the user, in `certificate_management_status`. */
import type { AcmeError } from '../../acme/errors.ts';

export type ErrorCode = 'INTERNAL_ERROR' | 'DNS_ERROR';

/** An attempt has failed. The message is for the user. */
export class JobFailed extends Error {
  override readonly name = 'JobFailed';
  readonly code: ErrorCode;
  /** How long the authority asks to wait. */
  readonly askedMs: number | null;
  /** Whether the authority has tried to validate the domain. */
  readonly tried: boolean;
  /** Whether the job needs another order. */
  readonly isOrderOver: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    {
      askedMs = null,
      tried = false,
      isOrderOver = false,
    }: Partial<Pick<JobFailed, 'askedMs' | 'tried' | 'isOrderOver'>> = {},
  ) {
    super(shortened(message.replaceAll(CONTROL, ' ')));
    this.code = code;
    this.askedMs = askedMs;
    this.tried = tried;
    this.isOrderOver = isOrderOver;
  }
}

/** Errors (RFC 8555, section 6.7) of an order whose cause is the domain or its DNS records, so that its owner can mend them. */
const OF_ORDERS = ['caa', 'rejectedIdentifier', 'unsupportedIdentifier'];
/** The same for errors of a validation. In other requests, some of them are about the account. */
const OF_VALIDATIONS = [...OF_ORDERS, 'connection', 'dns', 'incorrectResponse', 'tls', 'unauthorized'];

// biome-ignore lint/suspicious/noControlCharactersInRegex: what an authority says may have some
const CONTROL = /[\x00-\x1f\x7f-\x9f]+/g;
const MOST_BYTES = 1_024;

/**
 * @param directoryUrl of the authority; addresses on its host, which may identify the account, are left out
 * @param of the validation of a domain, or any other request
 */
export function reasonOf(
  error: AcmeError,
  directoryUrl: string,
  of: 'validation' | 'request',
): { code: ErrorCode; message: string } {
  const types = [error.type, ...error.subproblems.map(({ type }) => type)];
  const theirs = of === 'validation' ? OF_VALIDATIONS : OF_ORDERS;
  const code = types.some((type) => type !== null && theirs.includes(type)) ? 'DNS_ERROR' : 'INTERNAL_ERROR';
  const host = new URL(directoryUrl).hostname.replaceAll('.', String.raw`\.`);
  const own = new RegExp(String.raw`(?:https?:)?(?://)?${host}\.?(?::\d+)?/[^\s"'<>]*`, 'gi');
  return { code, message: error.message.replaceAll(own, '…') };
}

/** At most 1 KiB of UTF-8. */
function shortened(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MOST_BYTES) return text;
  const cut = bytes.subarray(0, MOST_BYTES - 3).toString();
  return `${cut.replace(/\uFFFD$/, '')}…`;
}
