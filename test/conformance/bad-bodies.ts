/** Good request bodies with one change that makes them bad. */

interface BadBody {
  readonly what: string;
  /** As it is sent. */
  readonly text: string;
  readonly status: 400 | 413 | 415;
  readonly contentType?: string;
  /** What `details` must name. */
  readonly place: string;
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** @param good the body of a request that succeeds; may be absent. */
export function badBodies(good: unknown, limit: number): BadBody[] {
  const body = (good ?? {}) as { readonly [name: string]: Json };
  const text = JSON.stringify(body);
  const plus = (member: string) => (text === '{}' ? `{${member}}` : `${text.slice(0, -1)},${member}}`);
  const [first = 'a'] = Object.keys(body);
  const twice = `${JSON.stringify(first)}:${JSON.stringify(body[first] ?? 1)}`;
  const nested = '['.repeat(32) + ']'.repeat(32);
  return [
    {
      what: 'larger than the limit',
      text: plus(`"metadata":"${'x'.repeat(limit)}"`),
      status: 413,
      place: 'request_id',
    },
    { what: 'nested too deep', text: plus(`"deep":${nested}`), status: 400, place: 'body' },
    { what: 'with a key twice', text: text === '{}' ? `{${twice},${twice}}` : plus(twice), status: 400, place: 'body' },
    { what: 'with __proto__', text: plus('"__proto__":{"admin":true}'), status: 400, place: 'body' },
    { what: 'with "constructor"', text: plus('"constructor":{"prototype":{}}'), status: 400, place: '/constructor' },
    { what: 'cut off', text: text.slice(0, -1), status: 400, place: 'body' },
    { what: 'that is a list', text: `[${text}]`, status: 400, place: 'body' },
    { what: 'that is null', text: 'null', status: 400, place: 'body' },
    {
      what: 'as a form',
      text: 'a=1',
      status: 415,
      contentType: 'application/x-www-form-urlencoded',
      place: 'request_id',
    },
    { what: 'as plain text', text, status: 415, contentType: 'text/plain', place: 'request_id' },
    ...places(body).flatMap(({ place, value, with: other }) =>
      badValues(value).map(([what, bad]) => ({
        what: `with ${what} as ${place}`,
        text: JSON.stringify(other(bad)),
        status: 400 as const,
        place,
      })),
    ),
    ...keys(body).map(({ what, place, body: changed }) => ({
      what: `with ${what} in a key of ${place}`,
      text: JSON.stringify(changed),
      status: 400 as const,
      place,
    })),
  ];
}

/** Values that no text field accepts; for other fields, a value of another type. */
function badValues(value: Json): [string, Json][] {
  if (typeof value !== 'string') return [['another type', typeof value === 'object' ? 'text' : {}]];
  return [
    ['a NUL', `${value}\u0000`],
    ['half of a surrogate pair', `${value}\ud800`],
    ['another type', { text: value }],
  ];
}

interface Place {
  /** JSON pointer. */
  place: string;
  value: Json;
  /** Returns the whole with another value in this place. */
  with(other: Json): Json;
}

/** Every member at every depth, without the whole itself. */
function places(whole: Json, at = ''): Place[] {
  if (whole === null || typeof whole !== 'object') return [];
  return Object.entries(whole as Record<string, Json>).flatMap(([name, value]) => {
    const place = `${at}/${name}`;
    const put = (other: Json): Json =>
      Array.isArray(whole) ? whole.with(Number(name), other) : { ...(whole as object), [name]: other };
    const inner = places(value, place).map((one) => ({ ...one, with: (other: Json) => put(one.with(other)) }));
    return [{ place, value, with: put }, ...inner];
  });
}

const BAD_IN_KEYS: [string, string][] = [
  ['a NUL', '\u0000'],
  ['half of a surrogate pair', '\ud800'],
];

/** Copies of the whole with one of `BAD_IN_KEYS` in the first key of each map inside. */
function keys(whole: Json): { what: string; place: string; body: Json }[] {
  return places(whole).flatMap(({ place, value, with: put }) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return [];
    const [[name, member] = [], ...rest] = Object.entries(value);
    return name === undefined
      ? []
      : BAD_IN_KEYS.map(([what, bad]) => ({
          what,
          place,
          body: put(Object.fromEntries([[name + bad, member as Json], ...rest])),
        }));
  });
}
