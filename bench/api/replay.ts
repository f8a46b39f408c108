/** Follows a script for one request. Besides the statements, it does what a handwritten handler would do. */
import { hash, randomBytes } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { newId } from '../../src/resources/definition/id.ts';
import type { Script, Source } from './script.ts';

export interface Request {
  params: Readonly<Record<string, string>>;
  body: unknown;
  /** The caller's key. */
  secret: string;
}

export interface Context extends Request {
  rows: Record<string, unknown>[][];
  ids: string[];
  now: string;
}

/** What an operation computes, besides its statements: signing, creating keys, reading certificates. */
export type Computation = (context: Context) => unknown;

/** Returns a function that handles requests according to a script and returns the body of the response. */
export function handler(pool: Pool, script: Script, compute: Computation | undefined) {
  const { steps } = script;
  const answer = reader(script.answer);
  const statements = steps.map((step) =>
    step.kind === 'statement' ? { ...step, values: step.values.map(reader) } : step,
  );
  // Outside the transaction, if there is one, and after reading what it needs.
  const begin = statements.findIndex(({ kind }) => kind === 'begin');
  const computeAt = begin === -1 ? statements.length - 1 : begin;

  return async (request: Request): Promise<unknown> => {
    const context: Context = { ...request, rows: [], ids: [], now: new Date().toISOString() };
    let held: PoolClient | undefined;
    try {
      for (const [index, step] of statements.entries()) {
        if (index === computeAt && compute) await compute(context);
        if (step.kind === 'statement') {
          const { name, text } = step;
          const values = step.values.map((read) => read(context, 0));
          const result = await (held ?? pool).query<Record<string, unknown>>({
            ...(name ? { name } : {}),
            text,
            values,
          });
          context.rows.push(result.rows);
        } else {
          if (step.kind === 'begin') held = await pool.connect();
          await held?.query(step.kind);
          if (step.kind === 'commit') {
            held?.release();
            held = undefined;
          }
        }
      }
    } catch (error) {
      held?.release(true);
      throw error;
    }
    return answer(context, 0);
  };
}

/** `shift`: the offset from the row in the script. */
type Read = (context: Context, shift: number) => unknown;

function reader(source: Source): Read {
  switch (source.from) {
    case 'constant':
      return () => source.value;
    case 'path':
      return ({ params }) => params[source.name];
    case 'body':
      return ({ body }) => source.at.reduce<unknown>(memberOf, body);
    case 'row':
      return ({ rows }, shift) => source.at.reduce<unknown>(memberOf, rows[source.statement]?.[source.row + shift]);
    case 'id':
      return ({ ids }) => {
        ids[source.index] ??= newId(source.prefix);
        return ids[source.index];
      };
    case 'caller':
      return ({ secret }) => sha256(secret);
    case 'token':
      return () => sha256(randomBytes(32));
    case 'serial':
      return () => String(randomBytes(8).readBigUInt64BE() >> 1n);
    case 'now':
      return ({ now }) => now;
    case 'text': {
      const parts = source.parts.map(reader);
      return (context, shift) => parts.reduce((text, part) => text + String(part(context, shift)), '');
    }
    case 'array': {
      const items = source.items.map(reader);
      return (context, shift) => items.map((item) => item(context, shift));
    }
    case 'object': {
      const members = source.members.map(([name, member]) => [name, reader(member)] as const);
      return (context, shift) => {
        const object: Record<string, unknown> = {};
        for (const [name, read] of members) object[name] = read(context, shift);
        return object;
      };
    }
    case 'json': {
      const value = reader(source.value);
      return (context, shift) => JSON.stringify(value(context, shift));
    }
    case 'rows': {
      const item = reader(source.item);
      return (context) =>
        context.rows[source.statement]?.slice(0, source.count).map((_, index) => item(context, index));
    }
  }
}

function memberOf(value: unknown, key: string | number): unknown {
  return Object(value)[key];
}

/** As PostgreSQL parses a bytea. */
const sha256 = (data: string | Buffer) => `\\x${hash('sha256', data, 'hex')}`;
