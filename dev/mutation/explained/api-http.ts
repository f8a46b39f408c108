import type { Explained } from './entries.ts';

/** Of `src/api/http`. */
export const API_HTTP: Explained = {
  'src/api/http/access-log.ts': {
    "app.decorateRequest('reasons', null); → ;": 'a request has no reasons without it, either',
  },
  'src/api/http/answers.ts': {
    "app.decorateRequest('charge', null); → ;": 'a request is charged nothing without it, either',
    "app.decorateReply('sending', null); → ;": 'a reply is not being sent without it, either',
    "app.decorateReply('isOver', false); → ;": 'a reply is not over without it, either',
    'const answer = * → *length >= LARGE ? *': 'any size of about this will do',
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
  'src/api/http/head.ts': {
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
    '* → *performance.now() - since >= mostMs) *': 'a millisecond; no test asserts a time',
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
  'src/api/http/metrics-server.ts': {
    'http: { * → *connectionsCheckingInterval: timeoutMs * 2 *': 'how often to look; no test asserts a time',
  },
  'src/api/http/metrics.ts': {
    'export const METRICS_AGE_MS = * → *': 'how long they are kept; no test asserts a time',
    'if (!ofProcess) { → if (true) {': 'the same figures, collected once more',
    'if (!observer) { → if (true) {': 'resolves the same labels once more',
    'observers.set(key, observer); → ;': 'resolves the same labels once more',
  },
  'src/api/http/pipelining.ts': {
    'if (now === 0) return; → if (false) return;': 'none of those in which nobody waits is longer than another',
    'if (now === 0) return; → if (now === 1) return;': 'one in which one waits is not longer than that of who asks',
  },
  'src/api/http/places.ts': {
    'const MOST_LOOKED_AT = * → *': 'any number of about this will do',
    'if (of.places === 0) * → if (false) *': 'frees memory',
    'if (of.places === 0) * → if (of.places === 0) {}': 'frees memory',
    'for (const [socket, since] of waiting* → *.take(2)*': 'the second has not waited for longer than the first',
  },
  'src/api/http/rate-limit.ts': {
    'knownKeys: 5000, → knownKeys: 5000000,': 'any number of about this will do',
    "app.decorateRequest('payer', null); → ;": 'a request has no payer without it, either',
    'if (perAddress === 0 || * → if (perAddress === 0 && *': 'looks for a stranger, of whom there was none',
    'if (perAddress === 0 || * → *lastStranger >= windowMs*': 'the window is over by then',
    'if (!payer || * → *lastSpent >= windowMs*': 'the window is over by then',
    'if (usage.remaining === 0) lastSpent* → if (true) *': 'looks for what is used up, and finds nothing',
  },
  'src/api/http/route.ts': {
    "app.decorateRequest('caller', null); → ;": 'a request has no caller without it, either',
  },
  'src/api/http/sent-back.ts': {
    'return inner.length > 0 * → return inner.length > 1 *': 'a path inside an element has three parts',
    'const inside = * → *': 'what is found of other members is not asked for',
    'const stored = * → const stored = byName(*': 'a list is read once for each of its elements',
    'lists.set(list, stored); → ;': 'a list is read once for each of its elements',
  },
  'src/api/http/shutdown.ts': {
    'let round = 0, before = -1; → let round = 0, before = -2;': 'no number of connections, either',
    "socket.once('close', () => connections.delete(socket)); → ;": 'frees memory',
    'if (!request.complete) * → if (true) *': 'a request that is complete closes in the same turn',
    'if (unanswerable.has(reply.raw)) * → if (unanswerable.has(reply.raw)) {}': 'it goes no further in any case',
    'export const SHUTDOWN: * → *': 'how long to wait; no test asserts a time',
    'const SWEEP_EVERY_MS = * → *': 'how often to look; no test asserts a time',
    'const MOST_SETTLING_ROUNDS = * → *': 'any number of about this will do',
    'let accepted = 0; → let accepted = 1;': 'only its changes count',
  },
  'src/api/http/turns.ts': {
    'if (line.running === 0) * → if (false) *': 'frees memory',
  },
  'src/api/http/validation.ts': {
    'const read = rest === own * → const read = false *': 'the same is read once more, with the same result',
    'if (repeated.length === 0) * → if (false) *': 'a copy with the same members',
    'return { own: standIns.size === 0 * → return { own: false *': 'a copy with the same members',
  },
};
