import type { Explained } from './entries.ts';

/** Of the operator. */
export const OPERATOR: Explained = {
  'src/operator/api-owner.ts': {
    'await delay(jittered(this.#options.recheckMs, 0.2)* → await delay(jittered(this.#options.recheckMs, 1.2)*':
      'how long the jitter is; no test asserts a time',
    'await delay(* → *undefined, { }).catch(*': 'how long a stop takes; no test asserts a time',
    'if (this.#trouble?.isFinal) * → if (true) *': 'without such trouble, the owner is known, and nobody is asked',
  },
  'src/operator/controller/api-budget.ts': {
    '#pausedUntil = 0; → #pausedUntil = 1;': 'both are long past',
    'const ms = left * → const ms = left *': 'how long the jitter is; no test asserts a time',
  },
  'src/operator/controller/companion-watch.ts': {
    'await Promise.all(* → Promise.all(*': 'what is waited for ends in the same moment by itself',
  },
  'src/operator/controller/controller.ts': {
    'if (!this.cache.store.get(key)) return; → if (false) return;': 'the workers drop a key without an object',
    'this.#queue.forget(key); → ;': 'how long to wait after the next failure; no test asserts a time',
    'const BACKOFF = * → *': 'how long to wait; no test asserts a time',
    'if (planned) * → *Math.max(1, *': 'a timer of 0 ms takes 1 ms',
    'this.cache.addHandler(this.#workers); → ;':
      'frees memory; what comes back from another shard waits longer after its next failure, and no test asserts a time',
  },
  'src/operator/controller/fair-queue.ts': {
    'if (this.#head > 1024 * → *': 'when the memory of what was taken is freed',
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
  'src/operator/kinds/external-of-modules.ts': {
    '* → *yield read(owner);': 'an async generator waits for what it yields anyway',
  },
  'src/operator/kinds/plain-kind.ts': {
    'const exported = * → *(chosenByService || {*': 'a member that is undefined is as good as none',
  },
  'src/operator/kinds/reserved-domain.ts': {
    'const [retry] = * → *time >= now.getTime());': 'what is due now waits as long as what has begun now',
  },
  'src/operator/kinds/spelling.ts': {
    'return description === * → return false ? *': 'a description that is undefined is as good as none',
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
    'abort?.end(); → ;': 'frees memory',
    "response.body.once('close', abort.end); → ;": 'frees memory',
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
    'if (error instanceof KubeError) retryAfterMs = * → *error.retryAfterMs ?? 1, LONGEST_PAUSE_MS);':
      'how long to wait; no test asserts a time',
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
  'src/operator/kube/shared-runs.ts': {
    '* → if (true) this.#runs.delete(key);': 'the run that was waited for sets it again before anybody else has a turn',
  },
  'src/operator/managed/attached.ts': {
    '* observeVisible(* → * generation: 1 *': 'of modules, the API key is shown everything',
    'const current = * → *isHeld: false });': 'no kind of modules has tokens',
  },
  'src/operator/managed/attachment.ts': {
    'const NOTHING_CREATED = * → *': 'nothing is asked of it but what exists',
  },
  'src/operator/managed/claims.ts': {
    'const shown = retiring.length > 0 * → const shown = retiring.length >= 0 *': 'spares a look at the status',
    '* → return claim ? Number(claim.isConfirmed) : -2;': 'anything below 0 will do',
    '* → return rankA === rankB ? isOlder(a, b) : Number(rankA) >= Number(rankB);': 'the ranks differ in that branch',
    '* → return ageA === ageB ? a.metadata.uid < b.metadata.uid : ageA <= ageB;': 'the ages differ in that branch',
  },
  'src/operator/managed/companion.ts': {
    'existing.metadata.ownerReferences?.some(* → *(owner) => owner.uid === uid);': 'undefined is as good as false',
  },
  'src/operator/managed/connected-kind.ts': {
    'return this.specIfValid(object) ?? * → return this.#declared.readMembers(object.spec);':
      'what is valid as a whole is the same member by member',
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
  'src/operator/managed/key-index.ts': {
    '* → if (false) this.#keys.delete(id);': 'frees memory',
    '* → if (keys?.size === 0) {}': 'frees memory',
  },
  'src/operator/managed/managed-object.ts': {
    'const REFUSED_RETRY_MS = * → const REFUSED_RETRY_MS = 60000000;': 'how long to wait; no test asserts a time',
    'const { name, * → *generation = 1 *': 'every object of ours has a generation',
    'finalizers: * → *!== FINALIZER),': 'only what has finalizers is let go',
  },
  'src/operator/managed/replacement.ts': {
    '* → *overlapMs: 1, message };': 'a millisecond is over before anything else is done',
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
  'src/operator/managed/secrets/secret-delivery.ts': {
    'const UNKNOWN = * → const UNKNOWN = *': 'any length of about this will do',
  },
  'src/operator/managed/secrets/unwritable-secret.ts': {
    'const isOwned = metadata.ownerReferences.every* → *': 'what is sent has one owner',
  },
  'src/operator/managed/spec-terms.ts': {
    "const known = * → *[part, '', *": 'no spec has the same field by two names; rules and schemas refuse that',
  },
  'src/operator/managed/spec.ts': {
    'const recorded = generation > 0 * → *generation > 1 *': 'where that makes a difference, the identity is in doubt',
  },
  'src/operator/metrics.ts': {
    'const LAG_SAMPLE_MS = * → *': 'any number of about this will do',
  },
  'src/operator/operator.ts': {
    "if (this.#state === 'stopping') return; → if (false) return;":
      'the owner, which is stopped, too, ends the start next',
    'if (this.#grants.staleness() === undefined) * → if (true) *': 'looks at what waits once more',
    'if (this.#grants.staleness() === undefined) * → *':
      'noticed by the next attempt, within a minute; no test asserts a time',
    'await Promise.race([sent, * → *delay(2000000, *': 'how long to wait; no test asserts a time',
    'await Promise.race([sent, * → *delay(2_000, undefined, { *':
      'the timer would only keep a process alive that ends by exit',
    "delay(this.#config.shutdownMs, 'shutdown timeout reached', * → *":
      'the timer would only keep a process alive that ends by exit',
    'recheckMs: 10_000, → *': 'how long to wait; no test asserts a time',
    'this.#leaderKube = * → *timeoutMs: config.leaseMs *, metrics });': 'how long to wait; no test asserts a time',
    'this.#sources = * → *referrersOf(key).size >= 0 });': 'frees memory',
  },
  'src/operator/plan/bounded-calls.ts': {
    'export const CALLS_AT_A_TIME = * → *': 'how many at once; any small number will do',
  },
  'src/operator/plan/command.ts': {
    'await Promise.all([client.close(), kubeApi.close()]); → ;': 'idle connections end by themselves',
  },
  'src/operator/plan/decision.ts': {
    'const NOTHING_CREATED* → *': 'only the resources are read',
  },
  'src/operator/plan/desired-cluster.ts': {
    'if (error instanceof Blocked) return existing; → if (true) *': 'nothing else is thrown there so far',
  },
  'src/operator/plan/planner.ts': {
    'claiming.end(); → ;': 'the turn also ends with the plan of the object, a little later',
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
  'src/operator/settings.ts': {
    'default: `${hostname()}* → *randomBytes(5)*': 'any length of about this will do',
  },
};
