/** Faults of a single call, while every process keeps running. */
import { type Answer, type Call, CUT, type Fault } from './proxy.ts';

const CODES: Readonly<Record<number, string>> = { 429: 'RATE_LIMITED', 500: 'INTERNAL_ERROR' };

/** An error of the API or the API server. */
export function refusal(call: Pick<Call, 'target'>, status: number, headers: Record<string, string> = {}): Answer {
  const body =
    call.target === 'kube'
      ? { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status, message: 'by the test', reason: 'Test' }
      : { error_code: CODES[status], status_code: status, msg: 'by the test', details: {} };
  const all = { 'content-type': 'application/json', ...headers };
  return { status, headers: all, body: Buffer.from(JSON.stringify(body)) };
}

export const FAULTS: Readonly<Record<string, Fault>> = {
  'cut off before it takes effect': async () => CUT,
  'cut off after it has taken effect': async (_, forward) => {
    await forward();
    return CUT;
  },
  'answered 500': async (call) => refusal(call, 500),
  'answered 500 after it has taken effect': async (call, forward) => {
    await forward();
    return refusal(call, 500);
  },
  'answered 503 by a load balancer': async () => ({
    status: 503,
    headers: { 'content-type': 'text/html' },
    body: Buffer.from('<html>no healthy upstream</html>'),
  }),
};
