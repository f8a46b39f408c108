/**
 * One fault for each of many objects at a time: every object's calls go their way undisturbed, but for one kind of call,
 * which meets its fault the first time. So all calls can meet all faults in the time that a single retry takes.
 */
import { z } from 'zod';
import { GROUP } from '../../src/operator/contract/names.ts';
import { idempotencyDigest } from '../../src/resources/definition/idempotency.ts';
import { type Answer, type Call, CUT, type Fault } from './proxy.ts';

const STATUS_HEADERS = { 'content-type': 'application/json' };

/** An error of the API or the API server, or of something in between. */
export function refusal(call: Pick<Call, 'target'>, status: number, headers: Record<string, string> = {}): Answer {
  const body =
    call.target === 'kube'
      ? { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status, message: 'by the test', reason: 'Test' }
      : { error_code: CODES[status] ?? 'INTERNAL_ERROR', status_code: status, msg: 'by the test', details: {} };
  return { status, headers: { ...STATUS_HEADERS, ...headers }, body: Buffer.from(JSON.stringify(body)) };
}

const CODES: Readonly<Record<number, string>> = { 429: 'RATE_LIMITED', 500: 'INTERNAL_ERROR', 503: 'UNAVAILABLE' };

/** What can go wrong with one call without anybody dying. */
export const FAULTS = {
  'is cut off before it takes effect': async () => CUT,
  'takes effect, and the answer is lost': async (_, forward) => {
    await forward();
    return CUT;
  },
  'is answered 500': async (call) => refusal(call, 500),
  'takes effect, and is answered 500': async (call, forward) => {
    await forward();
    return refusal(call, 500);
  },
  'is answered 503 by something in between': async () => ({
    status: 503,
    headers: { 'content-type': 'text/html' },
    body: Buffer.from('<html>no healthy upstream</html>'),
  }),
} satisfies Record<string, Fault>;

/** Takes effect when it is released: long after the operator has given up waiting. */
export function hanging(): { fault: Fault; release: () => void } {
  const gate = Promise.withResolvers<void>();
  const fault: Fault = async (_, forward) => {
    await gate.promise;
    return forward();
  };
  return { fault, release: () => gate.resolve() };
}

/** What tells which object the answer to a write of it is about. */
const written = z.object({ metadata: z.object({ uid: z.string() }) });

/** Tells which object a call is about: those named by what they are and a number, as in `policy-3`. */
export class Attribution {
  readonly #name: string;
  readonly #byId = new Map<string, string>();
  readonly #byDigest = new Map<string, string>();

  constructor(names: readonly string[]) {
    this.#name = `((?:${names.join('|')})-\\d+)`;
  }

  /** The UID is the scope of the object's creates. */
  learnUid(uid: string, object: string): void {
    this.#byDigest.set(idempotencyDigest(uid), object);
  }

  learnId(id: string, object: string): void {
    this.#byId.set(id, object);
  }

  /** The name of the object; undefined for lists. */
  objectOf({ target, path, body, idempotencyScope }: Call): string | undefined {
    if (target === 'kube') {
      return new RegExp(`/${this.#name}`).exec(path)?.[1] ?? new RegExp(`"name":"${this.#name}`).exec(body)?.[1];
    }
    const ids = path.match(/[a-z]+_[0-9a-z]{26}/g);
    // Of what is nested, the one around it may be nobody's.
    if (ids) return ids.map((id) => this.#byId.get(id)).find((object) => object !== undefined);
    const [, digest] = /\/([0-9a-f]{64})(\/|$)/.exec(path) ?? [];
    if (digest !== undefined) return this.#byDigest.get(digest);
    return idempotencyScope === undefined ? undefined : this.#byDigest.get(idempotencyDigest(idempotencyScope));
  }

  /**
   * Forwards, and learns the id of what was created. The UID of an object, the scope of its creates, is in the answer to
   * the write of its finalizer, which comes before anything is created.
   */
  async learnFrom(call: Call, forward: () => Promise<Answer>): Promise<Answer> {
    const answer = await forward();
    const object = this.objectOf(call);
    const isOfObject = call.method === 'PATCH' && call.path.includes(`/${GROUP}/`) && answer.status === 200;
    if (isOfObject && object !== undefined) {
      this.learnUid(written.parse(JSON.parse(answer.body.toString())).metadata.uid, object);
    }
    const [, id] = call.method === 'POST' ? (/"id":"([^"]+)"/.exec(answer.body.toString()) ?? []) : [];
    if (call.target === 'api' && id !== undefined && object !== undefined) this.learnId(id, object);
    return answer;
  }
}

export interface Assignment {
  readonly object: string;
  /** As `label` names it, with its number after the first. */
  readonly call: string;
  readonly fault: Fault;
}

/** Has every object's fault happen at its call, once. */
export class ObjectFaults {
  readonly #attribution: Attribution;
  readonly #assignments: Map<string, Assignment>;
  readonly #name: (call: Call, object: string) => string;
  /** Objects whose fault has happened. */
  readonly met = new Set<string>();

  constructor(
    attribution: Attribution,
    assignments: readonly Assignment[],
    nameOf: (call: Call, object: string) => string,
  ) {
    this.#attribution = attribution;
    this.#assignments = new Map(assignments.map((assignment) => [assignment.object, assignment]));
    this.#name = nameOf;
  }

  readonly fault: Fault = (call, forward) => {
    const through = () => this.#attribution.learnFrom(call, forward);
    const object = this.#attribution.objectOf(call);
    const assignment = object === undefined ? undefined : this.#assignments.get(object);
    if (object === undefined || assignment === undefined || this.met.has(object)) return through();
    if (this.#name(call, object) !== assignment.call) return through();
    this.met.add(object);
    return assignment.fault(call, through);
  };

  /** Objects whose fault has not happened, with the call that was not made. */
  get unmet(): string[] {
    const left = [...this.#assignments.values()].filter(({ object }) => !this.met.has(object));
    return left.map(({ object, call }) => `${call} of ${object}`);
  }
}
