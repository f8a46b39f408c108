/** What goes wrong between the client and the authority. */

/** One of the names that an order failed for (RFC 8555, section 6.7.1). */
export interface Subproblem {
  type: string | null;
  detail: string;
  /** The DNS name it is about, if any. */
  name: string | null;
}

export interface AcmeProblem {
  /** As in RFC 8555, section 6.7, without its prefix: `rateLimited`; null without a problem document. */
  type: string | null;
  /** HTTP status; null if there was no response, or if the problem is that of an order or a challenge. */
  status: number | null;
  detail: string;
  subproblems: readonly Subproblem[];
  /** How long the authority asks the client to wait, in milliseconds. */
  retryAfterMs: number | null;
}

/** The authority has refused a request, could not be reached, or gave a response that is not ACME. */
export class AcmeError extends Error implements AcmeProblem {
  override readonly name = 'AcmeError';
  readonly type: string | null;
  readonly status: number | null;
  readonly detail: string;
  readonly subproblems: readonly Subproblem[];
  readonly retryAfterMs: number | null;

  constructor({ type, status, detail, subproblems, retryAfterMs }: AcmeProblem, options?: ErrorOptions) {
    const parts = subproblems.map((each) => (each.name === null ? each.detail : `${each.name}: ${each.detail}`));
    super([type === null ? detail : `${type}: ${detail}`, ...parts].join('; '), options);
    this.type = type;
    this.status = status;
    this.detail = detail;
    this.subproblems = subproblems;
    this.retryAfterMs = retryAfterMs;
  }
}
