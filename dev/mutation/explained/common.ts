import type { Explained } from './entries.ts';

/** Of what both programs use. */
export const COMMON: Explained = {
  'src/client/transport.ts': {
    'const BACKOFF = * → *': 'how long to wait; no test asserts a time',
    'const { timeoutMs = * → * = 30000000, *': 'how long to wait; no test asserts a time',
    'const { timeoutMs = * → *longestWaitMs = 30000000, *': 'how long to wait; no test asserts a time',
    '* → *connections = 17 } = options;': 'any number of about this will do',
    'const wait = * → const wait = *': 'how long to wait; no test asserts a time',
    '* → ...(false ? {} : { body *': 'undici takes undefined for no body',
  },
  'src/retry/backoff.ts': {
    '* → *Math.min(failures - 1, 31));': 'keeps the power finite; longestMs is reached long before',
  },
};
