/**
 * Mutations that no test notices, and why that is right: by file, then by the text of the mutation as the report shows
 * it, in which `*` stands for anything. Whatever is listed here is not tried.
 */
export const EXPLAINED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'src/retry/backoff.ts': {
    '* → *Math.min(failures - 1, 31));': 'keeps the power finite; longestMs is reached long before',
  },
  'src/client/transport.ts': {
    'const BACKOFF = * → *': 'how long to wait; no test asserts a time',
    'const { timeoutMs = * → * = 30000000, *': 'how long to wait; no test asserts a time',
    'const { timeoutMs = * → *longestWaitMs = 30000000, *': 'how long to wait; no test asserts a time',
    '* → *connections = 17 } = options;': 'any number of about this will do',
    'const wait = * → const wait = *': 'how long to wait; no test asserts a time',
    '* → ...(false ? {} : { body *': 'undici takes undefined for no body',
  },
  'src/api/certificates/chain.ts': {
    'if (!x509.checkPrivateKey(key)) * → if (false) *': 'spares a signature, which would not verify',
    'const sample = * → *': 'any number of random bytes will do',
    '* → return verifying(*': 'what the key has signed can be verified with its own public half, or is not valid',
  },
  'src/api/certificates/rsa.ts': {
    'const { modulusLength = 0* → *': 'an RSA key always has a length',
    'if (!isRsa(key)) return undefined; → if (false) *': 'no other key that gets here has a length or an exponent',
  },
  'src/api/certificates/x509.ts': {
    'const shown = * → *(false ? *': 'both parsers read every date that OpenSSL does not call bad',
  },
  'src/api/crud/batches.ts': {
    'export const BATCH = 1000; → export const BATCH = 1000000;': 'any number of about this will do',
  },
  'src/api/crud/family.ts': {
    'if (refers) * → if (true) *': 'a statement more, which deletes nothing',
  },
  'src/api/crud/mount-module.ts': {
    'if (referring.length > 0) * → if (*': 'a statement more, which deletes nothing',
  },
  'src/api/crud/references.ts': {
    '* → await tx.query({ text*': 'prepared or not, a statement answers the same',
    'if (!statement) { → if (true) {': 'the same statement, written once more',
    'statements.set(name, statement); → ;': 'the same statement, written once more',
    '* → where rank <= ${NAMED + 2} *': 'one more than is named tells that there are more, as two do',
  },
  'src/api/families/one-time-token.ts': {
    '* → return (await tx.query({ text, values*': 'prepared or not, a statement answers the same',
  },
  'src/api/families/service-domains.ts': {
    '* → const name = false ? *': 'a wildcard right below a domain of the service is never reserved',
    '* → const name = *.slice(3) : domain;': 'nothing shorter than a label is cut off',
  },
  'src/api/http/access-log.ts': {
    "app.decorateRequest('reasons', null); → ;": 'a request has no reasons without it, either',
  },
  'src/api/http/answers.ts': {
    'const LARGE = * → *': 'how much memory an answer takes while it is sent; npm run test:deep measures it',
  },
  'src/api/http/body-size.ts': {
    'Object.hasOwn(value, name) * → true *': 'nothing that an object inherits is a list or map',
  },
  'src/api/http/bytes-in-flight.ts': {
    'export const SHARED* → *isOver: true*': 'asked only while a body is read, and what has it takes none',
    'const fairShare = * → *Math.max(0, *': 'where all is held, the limit of all refuses before',
    'const fairShare = * → *Math.max(2, *': 'where all is held, the limit of all refuses before',
    'if (used === 0) * → if (false) *': 'frees memory',
    'if (used === 0) * → if (used === 0) {}': 'frees memory',
    'const fairShare = * → *perOwner > 1 *': 'a limit of one byte refuses the same, with the same error',
    'const fairShare = * → *inAll > 1 *': 'a limit of one byte refuses the same before',
  },
  'src/api/http/connections.ts': {
    'surplus: 64, → *': 'any number of about this will do',
    'surplusPerAddress: 8, → *': 'any number of about this will do',
    'restMs: 1_000, → *': 'how long to wait; no test asserts a time',
    'slowMs: 5_000, → *': 'how long to wait; no test asserts a time',
    'surplusMs: 5_000, → *': 'how long to wait; no test asserts a time',
    'const left = * → *?? 1) - 1;': 'it has a count as long as one of its connections is open',
    'if (left > 0) * → if (true) *': 'frees memory',
    'if (left > 0) * → if (left >= 0) *': 'frees memory',
    "socket.once('close', () => silent.delete(socket)); → ;": 'frees memory',
    'deadlines.delete(socket); → ;': 'frees memory',
  },
  'src/api/http/handler-timeout.ts': {
    'reply.raw.once(* → ;': 'frees memory',
  },
  'src/api/http/host.ts': {
    'for (let at = 0; * → *at <= *': 'there is no header behind the last',
  },
  'src/api/http/json-body.ts': {
    'let expectsKey = false; → *': 'no object is open at the beginning',
    'for (let at = 0; at < text.length; * → *at <= *': 'there is nothing behind the last character',
    'let backslash = -1; → *': 'before the text in any case',
    'if (backslash <= at) * → if (true) *': 'finds the same again',
    'if (backslash <= at) * → if (backslash < at) *': 'a quote is no backslash',
    'if (quote < backslash) * → if (quote <= *': 'a quote is no backslash',
    'for (let end = backslash; * → *end <= *': 'there is nothing behind the last character',
    "if (!token.includes('\\\\')) * → if (false) *": 'without escapes, what is parsed is what is written',
  },
  'src/api/http/lingering.ts': {
    'if (socket.writableEnded) return; → if (false) return;': 'what is done twice has the same effect',
  },
  'src/api/http/load-shedding.ts': {
    'const RESOLUTION_MS = 10; → *': 'how often to measure; no test asserts a time',
    'delay: Delay = * → *({ }),': 'the default is the same',
    'if (eventLoopDelayMs === 0 * → if (false) return;': 'measures what has no limit',
    'if (eventLoopDelayMs === 0 * → if (eventLoopDelayMs === 1 *': 'measures what has no limit',
    'if (eventLoopDelayMs === 0 * → *rssBytes === 1) return;': 'measures what has no limit',
    'return 0; → return 1;': 'neither is above any limit',
  },
  'src/api/http/sent-back.ts': {
    'return inner.length > 0 * → return inner.length > 1 *': 'a path inside an element has three parts',
    'const inside = * → *': 'what is found of other members is not asked for',
    'const stored = * → const stored = byName(*': 'a list is read once for each of its elements',
    'lists.set(list, stored); → ;': 'a list is read once for each of its elements',
  },
  'src/api/http/turns.ts': {
    'if (line.running === 0) * → if (false) *': 'frees memory',
  },
  'src/api/http/validation.ts': {
    'const read = rest === own * → const read = false *': 'the same is read once more, with the same result',
    'if (repeated.length === 0) * → if (false) *': 'a copy with the same members',
    'return { own: standIns.size === 0 * → return { own: false *': 'a copy with the same members',
  },
  'src/api/openapi/page.ts': {
    'const digest = * → *': 'any length of a digest will do',
    'await *register(* → *': 'the framework awaits what is registered before it is ready',
  },
  'src/api/openapi/schemas.ts': {
    'const all = * → *.parse(shared?.$defs) };': 'zod puts some aside in every version so far',
  },
  'src/api/secrets/rotation.ts': {
    'const fresh = * → *': 'any number of random bytes will do',
    'await writeFile(* → *{ mode: 0o600, flush: true });': 'the name is random: no other process has made that file',
    'await writeFile(* → *{ flag: *': 'the chmod that follows does it',
    'await writeFile(* → writeFile(*': 'a race with the two calls behind it, which no test can force',
  },
  'src/api/ssh/keys.ts': {
    'running: 2, → *': 'how many at once; any small number will do',
  },
  'src/api/store/connections.ts': {
    'idleTimeoutMillis: 30_000, → *': 'how long to wait; no test asserts a time',
  },
  'src/api/store/database.ts': {
    'const ATTEMPTS = 3; → const ATTEMPTS = 4;': 'a limit on what does not end by itself; any small number will do',
  },
  'src/api/store/deadlines.ts': {
    'const timer = * → *limitMs / 5)).unref();': 'how often to look; more often will do, too',
  },
  'src/api/store/servers.ts': {
    'const HEAD_START_MS = 500; → *': 'how long to wait; no test asserts a time',
  },
  'src/api/start-failure.ts': {
    'const pauseMs = * → *': 'how long to wait; no test asserts a time',
    '* → *Date.now() + pauseMs >= deadline) *': 'a millisecond; no test asserts a time',
    'await delay(pauseMs); → delay(pauseMs);': 'how long to wait; no test asserts a time',
  },
  'src/api/store/statement-summary.ts': {
    '* → *how.split(/\\s/, 2)[0]*': 'only the first word is taken',
  },
  'src/api/store/statement.ts': {
    'for (let index = 0; * → *index <= *': 'there is no column behind the last',
    'if (text.length < 22 * → if (true) *': 'a Date reads it the same way, only slower',
    "if (text.length < 22 * → if (text.length * || !text.endsWith('+00')) *":
      'a Date reads it the same way, only slower',
    'const milliseconds = * → const milliseconds = false ? *': 'nothing stands there, which is padded to the same',
    'const milliseconds = * → *=== 23 ? *': 'nothing stands there, which is padded to the same',
    "const milliseconds = * → *padEnd(4, '0').slice(0, 3);": 'what is too much is cut off',
  },
  'src/operator/api-owner.ts': {
    'const RECHECK_MS = * → *': 'how long to wait; no test asserts a time',
  },
  'src/operator/controller/api-budget.ts': {
    '#pausedUntil = 0; → #pausedUntil = 1;': 'both are long past',
    'await delay(left * → await delay(left *': 'how long the jitter is; no test asserts a time',
  },
  'src/operator/controller/companion-watch.ts': {
    'await Promise.all(* → Promise.all(*': 'what is waited for ends in the same moment by itself',
  },
  'src/operator/controller/controller.ts': {
    'const BACKOFF = * → *': 'how long to wait; no test asserts a time',
  },
  'src/operator/controller/fair-queue.ts': {
    'if (this.#head > 1024 * → *': 'when the memory of what was taken is freed',
  },
  'src/operator/controller/late-writes.ts': {
    'this.#since.delete(subject); → ;': 'keeps the oldest first, which only frees memory sooner',
    '* → if (now - since <= LONGEST_MS) return;': 'frees memory',
  },
  'src/operator/controller/resync.ts': {
    'const RETRY_MS = * → *': 'how long to wait; no test asserts a time',
    '* → this.#schedule(jittered(nextMs, 1.1));': 'how long the jitter is; no test asserts a time',
    'this.#schedule(0); → this.#schedule(1);': 'a timer of 0 ms takes 1 ms',
  },
  'src/operator/controller/work-queue.ts': {
    '* → if (pending && pending.at < at) return;': 'of two for the same moment, either will do',
    '* → if (ms >= LONGEST_TIMER_MS) *': 'a timer of 0 ms takes 1 ms',
    'const { atLeastMs = * → const { atLeastMs = 1, *': 'every backoff of the operator is longer',
    'const QUICK_MS = * → *': 'how long to wait; no test asserts a time',
    'const LONGEST_TIMER_MS = * → * 2;': 'any number that setTimeout takes will do',
  },
  'src/operator/controller/workers.ts': {
    'return 0; → return 1;': 'of a failure that is not about a stale object, the number is not read',
  },
  'src/operator/export/command.ts': {
    'await client.close(); → *': 'idle connections end by themselves',
    'const sharingNames = * → const sharingNames = true ? *': 'reads more than it needs',
  },
  'src/operator/export/object-names.ts': {
    '* → *.id <= b.id ? -1 : 1);': 'no two ids are equal',
    '* → *(ageIn(a.id) <= ageIn(b.id) ? -1 : 1);': 'no two ids are equal',
    '* → * ? -2 : 1);': 'a sort reads only the sign',
    '* → * ? -1 : 2);': 'a sort reads only the sign',
    '* → * ? -1 : 0);': 'the sort only asks whether one comes before another',
  },
  'src/operator/export/yaml.ts': {
    'const code = * → *codePointAt(0) ?? 1;': 'no match is empty',
  },
  'src/operator/kinds/plain-kind.ts': {
    'giveUp: * → *(direct.giveUp?.*': 'what an async function returns is awaited anyway',
    'giveUp: * → * ?? true,': 'the verbs of a family always include it',
  },
  'src/operator/kube/event-recorder.ts': {
    '* → if (sent.at - at <= REPEAT_MS) break;': 'an Event of exactly this age is not repeated, whether known or not',
  },
  'src/operator/kube/kube-credentials.ts': {
    '#renewAt = 0; → #renewAt = 1;': 'both are long past',
    'this.#renewAt = 0; → this.#renewAt = 1;': 'both are long past',
    '#isRefused = false; → #isRefused = true;': 'the first credentials have no connections to keep',
    'await Promise.all([...this.#dispatchers]* → Promise.all(*': 'the connections end by themselves',
    'await dispatcher.close(); → dispatcher.close();': 'the calls in progress are ended by the transport',
    'this.#dispatchers.delete(dispatcher); → ;': 'frees memory; to close what is closed does nothing',
  },
  'src/operator/kube/kube-object.ts': {
    '* → return a.length === b.length ? a > b : a.length >= b.length;': 'the lengths differ in that branch',
  },
  'src/operator/kube/kube-transport.ts': {
    'await response.body.dump(); → response.body.dump();': 'the rest of the answer is read while the next call is made',
  },
  'src/operator/kube/leader-election.ts': {
    'await this.#pause(jittered(* → await this.#pause(jittered(*': 'how long the jitter is; no test asserts a time',
    '* → *delay(Math.max(1, left), *': 'a timer of 0 ms takes 1 ms',
    '* → *undefined, { })]);': 'the timer would only keep a process alive that ends by exit',
    '* → *undefined, { ref: true })]);': 'the timer would only keep a process alive that ends by exit',
  },
  'src/operator/kube/lease-annotation.ts': {
    'const PAUSE = * → *': 'how long to wait; no test asserts a time',
    'await delay(* → delay(*': 'how long to wait; no test asserts a time',
  },
  'src/operator/kube/list-watch.ts': {
    'const PAGE_SIZE = * → *': 'any size of about this will do',
    'const WATCH_SECONDS = * → *': 'how long to wait; no test asserts a time',
    'const RETRY = * → *': 'how long to wait; no test asserts a time',
    'const LONGEST_PAUSE_MS = * → *60000000;': 'how long to wait; no test asserts a time',
    'let retryAfterMs = * → *': 'how long to wait; no test asserts a time',
    'const pause = * → *': 'how long to wait; no test asserts a time',
    'clearTimeout(alarm); → ;': 'frees memory; nobody hears the alarm of a watch that has ended',
    'const timeoutSeconds = * → *': 'how long the jitter is; no test asserts a time',
    'await this.#pause(* → await this.#pause(*': 'how long to wait; no test asserts a time',
  },
  'src/operator/managed/attachment.ts': {
    'const NOTHING_CREATED = * → *': 'nothing is asked of it but what exists',
  },
  'src/operator/managed/claims.ts': {
    'if (!this.#declaresTheSame(change)) * → if (true) *': 'the index has the same keys again',
    '* → return this.#kind.mayBelong?.(other, isGranted) ?? true;': 'a kind that has ownerKeyIn has this, too',
    'const shown = retiring.length > 0 * → const shown = retiring.length >= 0 *': 'spares a look at the status',
    '* → return claim ? Number(claim.isConfirmed) : -2;': 'anything below 0 will do',
    '* → return rankA === rankB ? isOlder(a, b) : Number(rankA) >= Number(rankB);': 'the ranks differ in that branch',
    '* → return ageA === ageB ? a.metadata.uid < b.metadata.uid : ageA <= ageB;': 'the ages differ in that branch',
  },
  'src/operator/managed/creation.ts': {
    'const MOST_GENERATIONS_AT_ONCE = * → *': 'a limit on what does not end by itself; any small number will do',
    'for (let attempt = 0; * → *': 'a limit on what does not end by itself; any small number will do',
    '* → *? external.update(remote, allowed) : remote;': 'nothing handles what the catch clause throws',
  },
  'src/operator/managed/disposal.ts': {
    'const needed = due.length > 0 * → const needed = true *': 'spares a call; without anything due, nothing is kept',
    'const needed = due.length > 0 * → const needed = due.length >= 0 *':
      'spares a call; without anything due, nothing is kept',
    'if (inQuestion.length === 0) * → if (false) *': 'spares a call; of nothing, nothing is left',
  },
  'src/operator/managed/identity.ts': {
    'const generation = * → const generation = Number(annotation(object, ANNOTATION.createGeneration));':
      'what is no number counts as 0, too',
  },
  'src/operator/managed/losses.ts': {
    'this.#forgetOld(at); → ;': 'frees memory; whoever asks for the pause does it, too',
  },
  'src/operator/plan/bounded-calls.ts': {
    'export const CALLS_AT_A_TIME = * → *': 'how many at once; any small number will do',
  },
  'src/operator/plan/decision.ts': {
    'const NOTHING_CREATED* → *': 'only the resources are read',
  },
  'src/operator/plan/desired-cluster.ts': {
    'if (error instanceof Blocked) return existing; → if (true) *': 'nothing else is thrown there so far',
  },
  'src/operator/plan/planner.ts': {
    'if (kind.unserved) * → if (true) *': 'of a kind without such members, nothing is held back',
  },
  'src/operator/plan/render.ts': {
    'return `* → *notes }, null, 3)}*': 'any indentation will do',
  },
  'src/operator/plan/rivals.ts': {
    '#created = 0; → #created = 1;': 'tells new objects apart, wherever it begins',
    'this.#created += 1; → this.#created += 2;': 'tells new objects apart, whatever the step',
    'const creationTimestamp = * → *1000000 *': 'how long after one another does not matter, only the order',
    'if (hasToCome) for * → if (true) for *': 'the store has this version of what the cluster has already',
  },
  'src/operator/plan/secret-conflicts.ts': {
    'const delivering = * → *looseObject({ key: z.string() }) });':
      'the kind has checked the name, and it is passed on',
    'const uid = isNew(object) * → const uid = true *': 'each object asks once, and to all others both are another’s',
  },
  'src/operator/plan/spec-changes.ts': {
    'return sources.length > 0 * → return sources.length > 1 *':
      'a secret with one source is that source in every kind so far',
  },
  'src/operator/managed/inputs/inputs.ts': {
    '* → const reason = parsed.error.issues[0]?.message;': 'zod names at least one issue',
  },
  'src/operator/managed/inputs/reference-index.ts': {
    'if (targets.has(target)) * → if (false) *': 'it is put back at once',
    'if (others?.size === 0) * → if (false) *': 'frees memory',
    'if (others?.size === 0) * → if (others?.size === 0) {}': 'frees memory',
    'if (targets.size > 0) * → if (true) *': 'frees memory',
    'if (targets.size > 0) * → if (targets.size >= 0) *': 'frees memory',
  },
  'src/operator/managed/inputs/schemas.ts': {
    'context.addIssue(* → *, });': 'zod shows no input, given or not',
    "const value = 'value' in given * → const value = true *": 'what is missing is undefined',
    '...(description === undefined * → ...(false *': 'zod takes undefined for no description',
  },
  'src/operator/managed/managed-object.ts': {
    'const REFUSED_RETRY_MS = * → const REFUSED_RETRY_MS = 60000000;': 'how long to wait; no test asserts a time',
    'const { name, * → *generation = 1 *': 'every object of ours has a generation',
    'finalizers: * → *!== FINALIZER),': 'only what has finalizers is let go',
  },
  'src/operator/managed/schedule.ts': {
    'return a < b * → return a <= b *': 'both are the same time',
  },
  'src/operator/managed/secrets/ownership.ts': {
    '* → *held === undefined ? true *': 'of a Secret that holds nothing of ours, it is not read',
  },
  'src/operator/managed/secrets/secret-cache.ts': {
    'if (others.length > 0) * → if (true) *': 'frees memory',
    'if (others.length > 0) * → if (others.length >= 0) *': 'frees memory',
  },
  'src/operator/managed/secrets/unwritable-secret.ts': {
    'const isOwned = metadata.ownerReferences.every* → *': 'what is sent has one owner',
  },
  'src/operator/managed/spec.ts': {
    'const recorded = generation > 0 * → *generation > 1 *': 'where that makes a difference, the identity is in doubt',
  },
  'src/operator/managed/spec-terms.ts': {
    "const known = * → *[part, '', *": 'no spec has the same field by two names; rules and schemas refuse that',
  },
};

export interface Explanations {
  /** The reason why no test notices this mutation. */
  reason(file: string, mutation: string): string | undefined;
  /** Entries for the file that fit none of the mutations that were asked for. */
  stale(file: string): string[];
}

export function explanations(explained: typeof EXPLAINED = EXPLAINED): Explanations {
  const used = new Set<string>();
  const entries = (file: string) => Object.entries(explained[file] ?? {});
  return {
    reason(file, mutation) {
      const fitting = entries(file).filter(([pattern]) => fits(pattern, mutation));
      for (const [pattern] of fitting) used.add(`${file}: ${pattern}`);
      return fitting[0]?.[1];
    },
    stale: (file) =>
      entries(file)
        .map(([pattern]) => `${file}: ${pattern}`)
        .filter((entry) => !used.has(entry)),
  };
}

function fits(pattern: string, mutation: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(mutation);
}
