/** The body of an error. It stays small, however much of the request it quotes. */
import type { ErrorBody } from '../../resources/definition/errors.ts';
import type { ApiError, Details } from './errors.ts';

export const MAX_ERROR_BYTES = 8 * 1024;

const MAX_MESSAGE_BYTES = 1024;
const MAX_NAME_BYTES = 512;
const MAX_DETAIL_BYTES = 2048;

/** The body, with the request's id. */
export function errorBody(error: ApiError, requestId: string): ErrorBody {
  const { code: error_code, status: status_code, message, details } = error;
  const own = { request_id: requestId };
  const body = { error_code, status_code, msg: fitted(message, MAX_MESSAGE_BYTES), details: own };
  return { ...body, details: { ...fittedDetails(details, MAX_ERROR_BYTES - bytesOf(body)), ...own } };
}

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** Stands for the details that are left out. */
const OMITTED = '…';
const OMITTED_BYTES = 32;

/** As many of the details as have room. */
function fittedDetails(details: Details, room: number): Details {
  const entries = Object.entries(details);
  const fitting: (readonly [string, string])[] = [];
  let left = room - OMITTED_BYTES;
  for (const [name, value] of entries) {
    const entry = [fitted(name, MAX_NAME_BYTES), fitted(value, MAX_DETAIL_BYTES)] as const;
    left -= bytesOf(entry);
    if (left < 0) break;
    fitting.push(entry);
  }
  const omitted = entries.length - fitting.length;
  return Object.fromEntries(omitted === 0 ? fitting : [...fitting, [OMITTED, `and ${omitted} more`]]);
}

const QUOTES = 2;
const ELLIPSIS = '…';
const ELLIPSIS_BYTES = 3;

/**
 * The text, cut so that it has at most this many bytes in JSON, where a control character takes six. Text from the request
 * may be malformed or cut within a character; strict parsers would refuse it.
 */
function fitted(text: string, most: number): string {
  // Before anything else: the text may be as long as a body, and each of its units takes at least a byte.
  const start = text.slice(0, most).toWellFormed();
  if (text.length <= most && bytesOf(start) - QUOTES <= most) return start;
  let [length, bytes] = [0, ELLIPSIS_BYTES];
  for (const character of start) {
    bytes += bytesOf(character) - QUOTES;
    if (bytes > most) break;
    length += character.length;
  }
  return start.slice(0, length) + ELLIPSIS;
}
