/** The headers of a fixed response (RFC 9110, section 5): names in lower case, each once, without means of request smuggling. */
import { z } from 'zod';
import { byteLength, form } from './text.ts';

export const MAX_HEADERS = 64;
/** Most bytes of all names and values together; servers and proxies commonly read 8 KiB. */
export const MAX_HEADER_BYTES = 8_192;

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// ASCII only: clients decode other characters differently.
const VALUE = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/;

/** Headers of the connection and the framing, which the server sets. */
const RESERVED = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What the names of headers with secret values have in them. */
const SECRET = /authorization|cookie|credential|password|secret|token|api-?key/;

const stored = z.record(z.string(), z.string()).nullable();

/** The headers without the values of those whose names say that they are secret. */
export function withoutSecrets(value: unknown): Record<string, string> | null {
  const headers = stored.parse(value);
  if (headers === null) return null;
  return Object.fromEntries(
    Object.entries(headers).map(([name, content]) => [name, SECRET.test(name.toLowerCase()) ? '…' : content]),
  );
}

const BAD_VALUE = 'must be printable ASCII without line breaks or surrounding white space';

function problemOf(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return "is not a header name (letters, digits and !#$%&'*+.^_`|~-)";
  if (name.toLowerCase() === '__proto__')
    return 'must not be "__proto__": many JSON parsers drop a member of that name';
  if (RESERVED.has(name.toLowerCase())) return 'is reserved for the connection or the framing of the message';
  if (!VALUE.test(value)) return BAD_VALUE;
  return undefined;
}

/** Headers as requests carry them. */
export const headers = z
  .record(z.string(), z.string())
  .superRefine((given, context) => {
    const refuse = (message: string, ...path: string[]) =>
      context.addIssue({ code: 'custom', path, message, input: given });
    const seen = new Map<string, string>();
    const entries = Object.entries(given);
    for (const [name, value] of entries) {
      const problem = problemOf(name, value);
      const first = seen.get(name.toLowerCase());
      if (problem !== undefined) refuse(problem, name);
      else if (first !== undefined) refuse(`is the same header as "${first}"`, name);
      else seen.set(name.toLowerCase(), name);
    }
    if (entries.length > MAX_HEADERS) refuse(`must have at most ${MAX_HEADERS} headers, but has ${entries.length}`);
    const size = byteLength(entries.flat().join(''));
    if (size > MAX_HEADER_BYTES) refuse(`must have at most ${MAX_HEADER_BYTES} bytes in all, but has ${size}`);
  })
  .transform((given) => Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value])))
  .meta({
    description: 'Headers of the response. Names are stored in lower case.',
    examples: [{ 'content-type': 'text/plain' }],
    ...form({
      propertyNames: {
        pattern: NAME.source,
        'x-message': "must have header names as keys (letters, digits and !#$%&'*+.^_`|~-), as in content-type",
      },
      additionalProperties: {
        type: 'string',
        pattern: VALUE.source,
        'x-message': BAD_VALUE,
        maxLength: MAX_HEADER_BYTES,
      },
      maxProperties: MAX_HEADERS,
    }),
  });
