/**
 * The rows of the conformance table: plain data, so that they can be printed as well as played. A text may have
 * placeholders for values from earlier responses (`{policy.id}`) or from world.ts (`{unique}`).
 */
import type { ErrorCode } from '../../src/resources/definition/errors.ts';
import { ERROR_STATUS } from '../../src/resources/definition/errors.ts';
import type { Resource } from '../../src/resources/definition/resource.ts';

export type Role = 'admin' | 'user' | 'bot' | 'anonymous';
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A request. */
export interface Step {
  readonly method: Method;
  /** With its query. */
  readonly path: string;
  /** A string is sent as it is, everything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: `admin`. */
  readonly as?: Role;
}

/** The expected response. */
export interface Expected {
  readonly status: number;
  /**
   * What the body must contain. It may contain more, but only members in the OpenAPI document. Lists must have the same
   * length. A regular expression stands for any text that it matches, `undefined` for a member that must be absent.
   */
  readonly body?: unknown;
  /** By name in lower case; `undefined` for a header that must be absent. */
  readonly headers?: Readonly<Record<string, string | RegExp | undefined>>;
}

export interface Row {
  /** In our own words. */
  readonly rule: string;
  /** Settings of the server, as environment variables, that differ from the defaults; empty: not set. */
  readonly settings?: Readonly<
    Partial<Record<'RATE_LIMIT' | 'RATE_LIMIT_PER_OWNER' | 'RATE_LIMIT_UNAUTHENTICATED' | 'ENCRYPTION_KEY', string>>
  >;
  /** Requests that come first and must succeed, by the name under which placeholders find their answers. */
  readonly given?: Readonly<Record<string, Step>>;
  readonly ask: Step;
  readonly answer: Expected;
  /** Requests that check the effect afterwards. */
  readonly later?: readonly (readonly [Step, Expected])[];
}

export interface Section {
  /** Heading of the contract's section, or `Extension: …` for what the contract only refers to or leaves open. */
  readonly title: string;
  /** The family it covers. Its rows start with those derived from the definition (conventions.ts). */
  readonly family?: Resource;
  readonly rows: readonly Row[];
}

type More = Pick<Step, 'headers' | 'as'>;

export const get = (path: string, more: More = {}): Step => ({ method: 'GET', path, ...more });
export const del = (path: string, more: More = {}): Step => ({ method: 'DELETE', path, ...more });
export const post = (path: string, body?: unknown, more: More = {}): Step => ({ method: 'POST', path, body, ...more });
export const put = (path: string, body?: unknown, more: More = {}): Step => ({ method: 'PUT', path, body, ...more });
export const patch = (path: string, body?: unknown, more: More = {}): Step => ({
  method: 'PATCH',
  path,
  body,
  ...more,
});

/** A caller with the API key that was created under this name. */
export const by = (key: string): More => ({ as: 'anonymous', headers: { authorization: `Bearer {${key}.token}` } });

export const ok = (body?: unknown): Expected => ({ status: 200, body });
export const created = (body?: unknown): Expected => ({ status: 201, body });
export const noContent: Expected = { status: 204 };

/** The message of each code. witness.ts checks that it names what the details name. */
const SAID: Readonly<Record<ErrorCode, RegExp>> = {
  INVALID_REQUEST: /^.+: ./,
  UNAUTHENTICATED: /API key|Authorization header/,
  PERMISSION_DENIED:
    /^Only admins (of the first account )?may |^The owner of the API key is a viewer|^The API key lacks /,
  QUOTA_EXCEEDED: /^The account has \d+ of at most \d+ .+; delete some, or ask /,
  NOT_FOUND: / does not exist\b| has no /,
  METHOD_NOT_ALLOWED: /^This path supports only [A-Z]/,
  CONFLICT: /\b(already|closed|next|last)\b/,
  RESOURCE_IN_USE: /^(Still in use by|It still owns) .+; (change|delete) those first\.$/,
  PRECONDITION_FAILED: /has changed/,
  PAYLOAD_TOO_LARGE: /body is too large/,
  UNSUPPORTED_MEDIA_TYPE: /request bodies/i,
  IDEMPOTENCY_KEY_REUSED: /idempotency key was already used/,
  RATE_LIMITED: /^Too many /,
  INTERNAL_ERROR: /^Internal error/,
  NOT_IMPLEMENTED: /transfer coding/,
  UNAVAILABLE: /; (set|try) /,
};

/** An error of the catalogue, with these details at least. */
export const refused = (error_code: ErrorCode, details: Readonly<Record<string, string | RegExp>> = {}): Expected => ({
  status: ERROR_STATUS[error_code],
  body: { error_code, status_code: ERROR_STATUS[error_code], msg: SAID[error_code], details },
});

export const invalid = (details: Readonly<Record<string, string | RegExp>>): Expected =>
  refused('INVALID_REQUEST', details);

/** RFC 3339. */
export const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** An id with this prefix. */
export const idOf = (prefix: string): RegExp => new RegExp(`^${prefix}_[0-7][0-9a-z]{25}$`);

/** Another resource, at this path. */
export const refTo = (path: string, name: string) => ({ id: `{${name}.id}`, uri: `{base}${path}/{${name}.id}` });

/** Any text but this one. */
export const not = (text: string): RegExp => new RegExp(`^(?!${text}$)`);

/** The end of an id that no resource has. */
export const NOBODY = '01k9zq3v5hf8svx2r4c6y7n0wd';
