/** The objects of RFC 8555, section 7.1, as far as the client reads them. Members and values it does not know are ignored. */
import { z } from 'zod';
import type { Subproblem } from './errors.ts';

const PREFIX = 'urn:ietf:params:acme:error:';
const problemType = z.string().transform((type) => (type.startsWith(PREFIX) ? type.slice(PREFIX.length) : type));

const identifier = z.object({ type: z.string(), value: z.string() });
const subproblem = z
  .object({ type: problemType.optional(), detail: z.string().optional(), identifier: identifier.optional() })
  .transform(
    ({ type = null, detail, identifier: about }): Subproblem => ({
      type,
      detail: detail ?? type ?? 'no reason given',
      name: about?.value ?? null,
    }),
  );

/** A problem document (RFC 7807). */
export const problem = z.object({
  type: problemType.optional(),
  detail: z.string().optional(),
  subproblems: z.array(subproblem).optional(),
});

export const directory = z.object({
  newNonce: z.url(),
  newAccount: z.url(),
  newOrder: z.url(),
  /** RFC 9773; absent where the authority does not say when to renew. */
  renewalInfo: z.url().optional(),
  meta: z
    .object({
      /** Kinds of certificates to choose from, with a description each (draft-ietf-acme-profiles). */
      profiles: z.record(z.string(), z.unknown()).optional(),
    })
    .default({}),
});
export type Directory = z.output<typeof directory>;

export const order = z.object({
  /** pending, ready, processing, valid, invalid. */
  status: z.string(),
  identifiers: z.array(identifier),
  authorizations: z.array(z.url()),
  finalize: z.url(),
  certificate: z.url().optional(),
  error: problem.optional(),
});

export const challenge = z.object({
  type: z.string(),
  url: z.url(),
  /** pending, processing, valid, invalid. */
  status: z.string(),
  /** Of the types that this client answers. */
  token: z
    .string()
    .regex(/^[\w-]+$/)
    .optional()
    .catch(undefined),
  error: problem.optional(),
});
export type Challenge = z.output<typeof challenge>;

export const authorization = z.object({
  /** pending, valid, invalid, deactivated, expired, revoked. */
  status: z.string(),
  identifier,
  /** Whether it is for `*.` and the identifier. */
  wildcard: z.boolean().optional(),
  challenges: z.array(challenge),
});
export type Authorization = z.output<typeof authorization>;

const instant = z.iso.datetime({ offset: true }).transform((text) => new Date(text));
export const renewalInfo = z.object({
  suggestedWindow: z
    .object({ start: instant, end: instant })
    .refine(({ start, end }) => start < end, 'ends before it starts'),
});
