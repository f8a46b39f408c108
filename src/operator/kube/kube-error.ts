/** The errors of calls to the Kubernetes API. */
import { z } from 'zod';
import { parseRetryAfter } from '../../retry/retry-after.ts';

const status = z.looseObject({
  code: z.number().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
  details: z.looseObject({ causes: z.array(z.looseObject({ reason: z.string().optional() })).optional() }).optional(),
});

/** The API server answered with a Status. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly code: number;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  /** More precise than the reason, if the API server says so. */
  readonly causes: readonly string[];

  constructor(code: number, reason: string, message: string, retryAfterMs?: number, causes: readonly string[] = []) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.causes = causes;
  }

  get isNotFound(): boolean {
    return this.code === 404;
  }

  /** The service account lacks a permission; the message names it. */
  get isForbidden(): boolean {
    return this.code === 403 && !this.isNamespaceTerminating;
  }

  /** The namespace is being deleted and accepts no new objects. */
  get isNamespaceTerminating(): boolean {
    return this.causes.includes('NamespaceTerminating');
  }

  /** A newer version exists, or the name is taken. */
  get isConflict(): boolean {
    return this.code === 409;
  }

  /** The API server is well, but wants to be asked later: it is busy, or has just begun to serve the resource. */
  get isThrottled(): boolean {
    return this.code === 429;
  }

  /** The resource version or continue token is too old: list again. */
  get isExpired(): boolean {
    return this.code === 410;
  }
}

/** No usable answer; whether the request took effect is unknown. */
export class KubeUnreachableError extends Error {
  override readonly name = 'KubeUnreachableError';
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The error for a response with a Status body, or with a proxy's error page. */
export function kubeErrorFrom(httpStatus: number, body: string, headers: Headers): KubeError {
  const retryAfterMs = parseRetryAfter(headers['retry-after']?.toString(), Date.now());
  try {
    const parsed = status.parse(JSON.parse(body));
    const code = parsed.code ?? httpStatus;
    const causes = parsed.details?.causes?.flatMap(({ reason }) => reason ?? []);
    return new KubeError(code, parsed.reason ?? 'Unknown', parsed.message ?? `HTTP ${code}`, retryAfterMs, causes);
  } catch {
    const message = `answered ${describeBody(httpStatus, body, headers)}; is that the Kubernetes API?`;
    return new KubeError(httpStatus, 'Unknown', message, retryAfterMs);
  }
}

/** Describes the response, as in `502 with text/html`, without quoting the body, which may hold a secret. */
export function describeBody(httpStatus: number, body: string, headers: Headers): string {
  if (body === '') return `${httpStatus} without a body`;
  const [mediaType = ''] = headers['content-type']?.toString().split(';') ?? [];
  return `${httpStatus} with ${mediaType || 'a body of unknown type'} (${Buffer.byteLength(body)} bytes)`;
}
