/** A call as an HTTP request. Invalid options are refused before anything is sent. */
import { z } from 'zod';
import { ACCOUNT_HEADER } from '../resources/account.ts';
import {
  IDEMPOTENCY_KEY_HEADER,
  IDEMPOTENCY_SCOPE_HEADER,
  IDEMPOTENCY_SEQUENCE_HEADER,
  type IdempotencyPlace,
} from '../resources/definition/idempotency.ts';
import { type Manager, RESOURCE_MANAGER_HEADER, writeManager } from '../resources/definition/manager.ts';

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  path: string;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  idempotencyKey?: string | undefined;
  idempotencyPlace?: IdempotencyPlace | undefined;
  manager?: Manager | undefined;
  ifMatch?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** RFC 9110, section 5.5, as undici enforces it. */
const NO_HEADER = 'must be text that a header can carry';
const headerText = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, NO_HEADER);
const keySource = z.custom<() => string>((key) => typeof key === 'function');

const timerMs = (least: number) => z.int().min(least).max(0x7fff_ffff).optional();

const optionsSchema = z.object({
  baseUrl: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine((url) => !/[?#]/.test(url), 'must have no query and no fragment')
    .refine((url) => !/^https?:\/\/[^/]*@/.test(url), 'must have no user and no password'),
  apiKey: z.union([headerText.min(1), keySource], NO_HEADER),
  account: headerText.optional(),
  userAgent: headerText.optional(),
  timeoutMs: timerMs(1),
  listTimeoutMs: timerMs(1),
  longestWaitMs: timerMs(0),
  retries: z.int().min(0).optional(),
  connections: z.int().min(1).optional(),
});

/** @throws TypeError naming the option, without its value */
export function checkOptions(options: z.input<typeof optionsSchema>): void {
  const { error } = optionsSchema.safeParse(options);
  const [issue] = error?.issues ?? [];
  if (issue) throw new TypeError(`${issue.path.join('.')}: ${issue.message}`);
}

export interface WireRequest {
  url: URL;
  method: ApiRequest['method'];
  headers: Readonly<Record<string, string>>;
  body: string | undefined;
}

interface Caller {
  baseUrl: string;
  apiKey: string | (() => string);
  account?: string | undefined;
  userAgent?: string;
}

/** @throws TypeError for an invalid header or body */
export function wireRequest(
  { baseUrl, apiKey, account, userAgent = 'tunnel-operator-client' }: Caller,
  call: ApiRequest,
): WireRequest {
  const url = new URL(baseUrl.replace(/\/+$/, '') + call.path);
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const { idempotencyKey, idempotencyPlace: place, manager, ifMatch, method } = call;
  const headers: Record<string, string> = {
    authorization: `Bearer ${typeof apiKey === 'string' ? apiKey : apiKey()}`,
    'service-version': '2',
    'user-agent': userAgent,
    ...(account === undefined ? {} : { [ACCOUNT_HEADER]: account }),
    ...(idempotencyKey === undefined ? {} : { [IDEMPOTENCY_KEY_HEADER]: idempotencyKey }),
    ...(place && {
      [IDEMPOTENCY_SCOPE_HEADER]: place.scope,
      [IDEMPOTENCY_SEQUENCE_HEADER]: String(place.sequence),
    }),
    ...(manager && { [RESOURCE_MANAGER_HEADER]: writeManager(manager) }),
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  for (const [name, value] of Object.entries(headers)) {
    const { error } = headerText.safeParse(value);
    if (error) throw new TypeError(`${method} ${call.path}: ${name} ${error.issues[0]?.message}`);
  }
  return { url, method, headers, body: call.body === undefined ? undefined : JSON.stringify(call.body) };
}
