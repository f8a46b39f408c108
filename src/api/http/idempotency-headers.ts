/** The headers of idempotent creates. */
import type { z } from 'zod';
import {
  IDEMPOTENCY_KEY_HEADER,
  IDEMPOTENCY_SCOPE_HEADER,
  IDEMPOTENCY_SEQUENCE_HEADER,
  idempotencyKey,
  idempotencyScopeName,
  idempotencySequence,
} from '../../resources/definition/idempotency.ts';
import { invalidByRule } from '../errors/errors.ts';
import type { Call } from './operation.ts';
import { IN_OUR_WORDS } from './validation.ts';

/** Throws INVALID_REQUEST naming the header that is malformed or missing. */
export function parseIdempotency(
  header: (name: string) => string | undefined,
): Pick<Call, 'idempotencyKey' | 'idempotencyPlace'> {
  const key = parse('Idempotency-Key', idempotencyKey, header(IDEMPOTENCY_KEY_HEADER));
  const scope = parse('Idempotency-Scope', idempotencyScopeName, header(IDEMPOTENCY_SCOPE_HEADER));
  const sequence = parse('Idempotency-Sequence', idempotencySequence, header(IDEMPOTENCY_SEQUENCE_HEADER));
  if (scope === undefined && sequence === undefined) return { idempotencyKey: key, idempotencyPlace: undefined };
  if (key === undefined) throw missing('Idempotency-Key', 'an idempotency scope');
  if (scope === undefined) throw missing('Idempotency-Scope', 'an Idempotency-Sequence');
  if (sequence === undefined) throw missing('Idempotency-Sequence', 'an Idempotency-Scope');
  return { idempotencyKey: key, idempotencyPlace: { scope, sequence } };
}

function parse<T extends z.ZodType>(name: string, schema: T, value: string | undefined): z.output<T> | undefined {
  if (value === undefined) return undefined;
  const result = schema.safeParse(value, IN_OUR_WORDS);
  if (result.success) return result.data;
  throw invalidByRule({ [name]: result.error.issues[0]?.message ?? 'is malformed' });
}

const missing = (name: string, what: string) => invalidByRule({ [name]: `is required with ${what}` });
