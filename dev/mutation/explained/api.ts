import type { Explained } from './entries.ts';

/** Of the management API. */
export const API: Explained = {
  'src/api/announced-key.ts': {
    'const PAUSE_MS = * → *': 'how long to wait; no test asserts a time',
    'while (rest.length > 0) * → while (rest.length > 1) *':
      'what a pipe takes is for the system to say, and the last byte is a line break',
    'if (codeOf(error) !== * → *performance.now() >= deadline) *': 'the same but for one moment',
    'Atomics.wait(* → *, 0, 1, ms);': 'looks without a pause; no test asserts a time',
  },
  'src/api/app.ts': {
    '...(options.logger ? * → ...(true ? *': 'the framework takes an undefined logger for none',
    'await app.register(* → app.register(*': 'the framework awaits what is registered before it is ready',
    'connectionsCheckingInterval: * → *': 'how often to look; no test asserts a time',
    'forceCloseConnections: false, → ': 'closes what the stop closes by itself',
  },
  'src/api/bootstrap.ts': {
    'return { id: newId(prefix)* → *revision: *': 'the database counts; of a new row, it is not read',
  },
  'src/api/certificates/chain.ts': {
    'if (!x509.checkPrivateKey(key)) * → if (false) *': 'spares a signature, which would not verify',
    'const sample = * → *': 'any number of random bytes will do',
    '* → return verifying(*': 'what the key has signed can be verified with its own public half, or is not valid',
  },
  'src/api/certificates/rsa.ts': {
    'const { modulusLength = 0* → *': 'an RSA key always has a length',
    'if (!isRsa(key)) return undefined; → if (false) *': 'no other key that gets here has a length or an exponent',
    'if (one.length !== * → *>= other.length;': 'the lengths differ here',
    'return Math.clz32(* → *?? 1)*': 'a key whose modulus is 0 is refused all the same, as too short',
  },
  'src/api/certificates/x509.ts': {
    'const shown = * → *(false ? *': 'both parsers read every date that OpenSSL does not call bad',
  },
  'src/api/crud/batches.ts': {
    'export const BATCH = 1000; → export const BATCH = 1000000;': 'any number of about this will do',
  },
  'src/api/crud/family.ts': {
    'if (ids.length === 0) * → if (false) *': 'a statement more, which deletes nothing',
    'if (refers) * → if (true) *': 'a statement more, which deletes nothing',
  },
  'src/api/crud/idempotency-scopes.ts': {
    '* → *.query({ text: *': 'prepared or not, a statement answers the same',
    'return (await tx.query(* → *.length > 1;': 'at most one row is updated, by its key',
    'if (sequence <= MAX_IN_SCOPE) * → if (sequence < MAX_IN_SCOPE) *': 'at that number, there are fewer',
  },
  'src/api/crud/idempotency.ts': {
    '* → *.query({ text*': 'prepared or not, a statement answers the same',
    'return resource_id === null || * → *=== null && *': 'both are null, or neither',
    'last = ids.at(-1); → *at(-0);': 'reads some again',
    'last = ids.at(-1); → *at(-2);': 'reads some again',
    'throw await refusal(* → *': 'what catches it returns it from an async function, and so waits for it',
    'const values = * → *place?.scope, *': 'the driver takes undefined for null',
    'const values = * → *place?.sequence, *': 'the driver takes undefined for null',
    'for (let turn = 0; * → *': 'a limit on what does not end by itself; any small number will do',
    'if (resourceIds.length > 0) * → if (true) *': 'a statement more, which deletes nothing',
    'if (resourceIds.length > 0) * → if (resourceIds.length >= 0) *': 'a statement more, which deletes nothing',
    'const fresh = * → *<= TOKEN_KEPT_MS;': 'a millisecond; no test asserts a time',
    'await sweepScopes(* → *before(1));': 'a millisecond; no test asserts a time',
  },
  'src/api/crud/mount-module.ts': {
    'if (referring.length > 0) * → if (*': 'a statement more, which deletes nothing',
  },
  'src/api/crud/operations.ts': {
    'const referring = * → *.length >= 0);': 'a statement more, which writes nothing',
    'await (hooks.beforeCreate* → await (true': 'one statement is a transaction in any case',
    'await (hooks.beforeCreate* → *referring.length >= 0': 'one statement is a transaction in any case',
    'await (hooks.beforeCreate* → *resource.parent && referring*':
      'what a moment between two statements does, which no test can force',
    'if (value !== undefined) * → if (true) *': 'what was read from JSON is not undefined',
    'const own = * → *revision: *': 'the database counts; of a new row, it is not read',
  },
  'src/api/crud/read-only.ts': {
    'if (sentBack.length === 0) * → if (false) *': 'of nothing, nothing is refused',
    'if (path.length > 1) * → if (path.length > 2) *': 'a path inside an element has three parts',
  },
  'src/api/crud/references.ts': {
    '* → await tx.query({ text*': 'prepared or not, a statement answers the same',
    'if (!statement) { → if (true) {': 'the same statement, written once more',
    'statements.set(name, statement); → ;': 'the same statement, written once more',
    '* → where rank <= ${NAMED + 2} *': 'one more than is named tells that there are more, as two do',
  },
  'src/api/families/api-key.ts': {
    '* → *tx.query({ text, *': 'prepared or not, a statement answers the same',
  },
  'src/api/families/credential.ts': {
    '* → *query({ text: *': 'prepared or not, a statement answers the same',
  },
  'src/api/families/event-destination.ts': {
    '* → *query({ text, *': 'prepared or not, a statement answers the same',
  },
  'src/api/families/hostports.ts': {
    'if (edge.hostports.length === 0) * → if (false) *': 'statements more, which change nothing',
    'if (before.hostports.join() === * → if (false) *': 'statements more, which change nothing',
    'if (found.length === 0) * → if (false) *': 'statements more, which change nothing',
    'return `it * → *serviceDomains)}`;': 'what cannot be reserved belongs to the service so far',
    '* → *query({ text, *': 'prepared or not, a statement answers the same',
    'const COVERINGS = 64; → *': 'any number of about this will do',
    "const below = domain.startsWith('*.') * → *domain.slice(2) *": 'edges more, which are covered as before',
  },
  'src/api/families/ip-policy-rule.ts': {
    '* → *query({ text, *': 'prepared or not, a statement answers the same',
    'return (await tx.query(* → *.length > 1;': 'at most one row is updated, by its key',
  },
  'src/api/families/one-time-token.ts': {
    '* → return (await tx.query({ text, values*': 'prepared or not, a statement answers the same',
  },
  'src/api/families/reserved-domain.ts': {
    'const attaches = * → *(before?.certificate_id);': 'where both are set, it is neither null nor undefined',
    '* → *query({ text, *': 'prepared or not, a statement answers the same',
  },
  'src/api/families/rule-set.ts': {
    '* → *<= String(b.cidr)*': 'a policy has no two rules for one block',
    '* → * ? -0 : 1)*': 'the sort only asks whether one comes behind another',
    '* → * ? -2 : 1)*': 'a sort reads only the sign',
    '* → * ? -1 : 2)*': 'a sort reads only the sign',
    '* → * ? -1 : 0)*': 'the sort only asks whether one comes before another',
    'const SHORT_MEMBERS = 400; → *': 'any number of about this will do',
    '* → *query({ text: *': 'prepared or not, a statement answers the same',
    'if (!row) result.created.push(* → *revision: *': 'the database counts; of a new row, it is not read',
    'if (call.sentBack.length > 0) * → if (true) *': 'of nothing, nothing is refused',
    'if (call.sentBack.length > 0) * → if (call.sentBack.length >= 0) *': 'of nothing, nothing is refused',
  },
  'src/api/families/service-domains.ts': {
    '* → const name = false ? *': 'a wildcard right below a domain of the service is never reserved',
    '* → const name = *.slice(3) : domain;': 'nothing shorter than a label is cut off',
  },
  'src/api/families/ssh-certificate-authority.ts': {
    "secrets.seal('', * → ;": 'fails sooner, before a key is made that could not be kept',
    '* → *query({ text, *': 'prepared or not, a statement answers the same',
  },
  'src/api/families/ssh-host-certificate.ts': {
    "if ('reason' in parsed) * → *refused({ });": 'what cannot be read, the schema of the body has refused',
    'return (randomBytes(8)* → *randomBytes(9)*': 'the first eight bytes are read',
  },
  'src/api/families/tls-certificate.ts': {
    '* → *query({ text, *': 'prepared or not, a statement answers the same',
  },
  'src/api/families/user.ts': {
    'if (admin && active) * → if (admin || active) *': 'whoever deletes somebody else is an admin, and stays one',
  },
  'src/api/families/whoami.ts': {
    'const row = * → const row = true ? *': 'a statement more, which finds nothing',
  },
  'src/api/housekeeping.ts': {
    "signal.addEventListener('abort', * → *": 'a signal is aborted once',
  },
  'src/api/openapi/page.ts': {
    'const digest = * → *': 'any length of a digest will do',
    'await *register(* → *': 'the framework awaits what is registered before it is ready',
  },
  'src/api/openapi/schemas.ts': {
    'const all = * → *.parse(shared?.$defs) };': 'zod puts some aside in every version so far',
  },
  'src/api/secrets/rotation.ts': {
    'await link(* → link(*': 'a race with the calls behind it, which no test can force',
    "await writeFile(* → *mode: 0o600, flag: 'wx', });":
      'what a crash of the machine leaves behind, which no test can force',
    'await writeFile(* → *flush: false });': 'what a crash of the machine leaves behind, which no test can force',
    'await writeFile(* → *{ mode: 385, *': 'the chmod that follows does it',
    'const BATCH = 100; → *': 'any number of about this will do',
    'const fresh = * → *': 'any number of random bytes will do',
    'await writeFile(* → *{ mode: 0o600, flush: true });': 'the name is random: no other process has made that file',
    'await writeFile(* → *{ flag: *': 'the chmod that follows does it',
    'await writeFile(* → writeFile(*': 'a race with the two calls behind it, which no test can force',
  },
  'src/api/server.ts': {
    'const { madeUp: bootstrapKey } = * → *= (await makeKey());': 'a given key that is there already is left alone',
    'delay(closingMs, undefined, { ref: false }), → *': 'the timer would only keep a process alive that ends by exit',
    'const given = * → const given = true *': 'a request between the listening and the key, which no test can force',
    'ending.abort(); → ;': 'ends sooner what the end of the time for closing cuts off',
  },
  'src/api/ssh/keys.ts': {
    'running: 2, → *': 'how many at once; any small number will do',
  },
  'src/api/start-failure.ts': {
    'const pauseMs = * → *': 'how long to wait; no test asserts a time',
    '* → *Date.now() + pauseMs >= deadline) *': 'a millisecond; no test asserts a time',
    'await delay(pauseMs); → delay(pauseMs);': 'how long to wait; no test asserts a time',
  },
  'src/api/store/connections.ts': {
    'client.release(true); → *':
      'a connection that is made just as another server is turned to, which no test can force',
    'take(taker, isRepeated); → ;':
      'a connection that is made just as another server is turned to, which no test can force',
    '...(servers.hasChoice ? * → ...(true ? *': 'asks a server what it is, of which anything will do',
    'for (const connection of open) * → *if (true) *': 'what ends is opened anew',
    "this.once('end', () => open.delete(this)); → ;": 'frees memory',
    'idleTimeoutMillis: 30_000, → *': 'how long to wait; no test asserts a time',
  },
  'src/api/store/database.ts': {
    'if (!broken) await run(ROLLBACK)* → if (!broken) run(ROLLBACK)*': 'what comes next on the connection waits for it',
    'deadlines.stop(); → ;': 'a timer that keeps no process from ending, and has nothing left to do',
    'if (!broken) await run(ROLLBACK)* → if (true) *':
      'asks a broken connection in vain, for as long as a statement may take',
    'const PAUSE: * → *': 'how long to wait; no test asserts a time',
    'limitMs: * → *': 'how long to wait for a server that is silent; no test asserts a time',
    'const ATTEMPTS = 3; → const ATTEMPTS = 4;': 'a limit on what does not end by itself; any small number will do',
  },
  'src/api/store/deadlines.ts': {
    'const timer = * → *limitMs / 5)).unref();': 'how often to look; more often will do, too',
  },
  'src/api/store/event-retention.ts': {
    'const BATCH = 1000; → *': 'any number of about this will do',
  },
  'src/api/store/lock-waits.ts': {
    'for (let failures = 1; * → *': 'how long to wait; no test asserts a time',
    'const PAUSE = * → *': 'how long to wait; no test asserts a time',
    'const TOLD_AFTER_MS = 1_000; → const TOLD_AFTER_MS = 0;': 'how long to wait; no test asserts a time',
    "for (let told = ''; * → *delay(TOLD_AFTER_MS * 4, *": 'how often to look; no test asserts a time',
    "for (let told = ''; * → *delay(TOLD_AFTER_MS / 5, *": 'how often to look; no test asserts a time',
  },
  'src/api/store/migrate.ts': {
    "await client.query('rollback')* → client.query('rollback')*": 'what comes after it on the connection waits for it',
    'const CONNECT_TIMEOUT_MS = 10_000; → const CONNECT_TIMEOUT_MS = 10000000;':
      'how long to wait; no test asserts a time',
    'if (!servers.isTrusted) * → if (true) *': 'asks a single server once more what it is',
    'keepAlive: true, → *': 'a server that vanishes without a word is noticed after minutes, for which no test waits',
    'keepAliveInitialDelayMillis: 30_000, → *': 'how long to wait; no test asserts a time',
    'return { version: Number(name.slice(0, 4)), * → *slice(1, 4)*': 'no version has four digits yet',
  },
  'src/api/store/repository.ts': {
    'if (!statement) { → if (true) {': 'the same statement, written once more',
    'pages.set(name, statement); → ;': 'the same statement, written once more',
    'return statement(limit + 1* → *limit + 2*': 'what is beyond the limit is only counted',
    'more ||= read > 0 * → more ||= read > 1 *': 'no row takes one byte',
    '* → *part?.limit));': 'the driver takes undefined for null',
    '*.length === 0) return; → if (false) return;': 'a statement more, which changes nothing',
  },
  'src/api/store/servers.ts': {
    "client.on('error', () => {}); → ;":
      'a connection that breaks between its last answer and its end, which no test can force',
    'const headStart = * → *{ })]);': 'asks the other servers later, whose answers are not needed any more',
    "if (this.#wanted !== 'any') { → if (true) {": 'asks a server what it is, of which anything will do',
    'found.abort(); → ;': 'asks the other servers, too, whose answers are not needed any more',
    'found.signal.throwIfAborted(); → ;': 'asks the other servers, too, whose answers are not needed any more',
    'const HEAD_START_MS = 500; → *': 'how long to wait; no test asserts a time',
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
  'src/api/store/traced-database.ts': {
    'const known = summaries.get(text) ?? * → const known = summaryOf(text);': 'the same summary, made once more',
    'summaries.set(text, known); → ;': 'the same summary, made once more',
  },
};
