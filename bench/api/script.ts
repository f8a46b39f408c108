/**
 * What a minimal handler has to do for one operation: the recorded statements of the operation, and the source of each
 * of their values. Plain data, so that it can be sent to the baseline process.
 */

/** Where a value comes from. */
export type Source =
  /** The same for every request. */
  | { from: 'constant'; value: unknown }
  /** A parameter in the path. */
  | { from: 'path'; name: string }
  | { from: 'body'; at: readonly Key[] }
  /** What an earlier statement returned: a member of one of its rows. */
  | { from: 'row'; statement: number; row: number; at: readonly Key[] }
  /** A new id; the same index in one request is the same id. */
  | { from: 'id'; prefix: string; index: number }
  /** The SHA-256 of the caller's key. */
  | { from: 'caller' }
  /** The SHA-256 of a new token. */
  | { from: 'token' }
  | { from: 'serial' }
  | { from: 'now' }
  | { from: 'text'; parts: readonly Source[] }
  | { from: 'array'; items: readonly Source[] }
  | { from: 'object'; members: readonly (readonly [string, Source])[] }
  /** As text. */
  | { from: 'json'; value: Source }
  /** One for each of the first rows of a statement, as for the first of all. */
  | { from: 'rows'; statement: number; count: number; item: Source };

export type Key = string | number;

export type ScriptStep =
  | { kind: 'begin' | 'commit' }
  | { kind: 'statement'; name: string | undefined; text: string; values: readonly Source[] };

export interface Script {
  method: 'GET' | 'POST' | 'PUT';
  /** Of the route, with `:name` for parameters. */
  url: string;
  /** Each is a round trip to the database. */
  steps: readonly ScriptStep[];
  status: number;
  answer: Source;
}
