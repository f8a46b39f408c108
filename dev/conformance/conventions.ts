/** The rows that every family has, since they follow from the general rules and the common conventions. */
import {
  created,
  del,
  get,
  idOf,
  invalid,
  noContent,
  ok,
  patch,
  post,
  type Row,
  refused,
  type Step,
  TIMESTAMP,
} from './row.ts';

export interface Family {
  /** As in a sentence: `an IP policy`. */
  readonly one: string;
  /** As in a sentence: `IP policies`. */
  readonly many: string;
  readonly prefix: string;
  readonly path: string;
  /** The array in lists. */
  readonly collection: string;
  /** The least that a create request needs; with `{unique}` where two may not be the same. */
  readonly least: Readonly<Record<string, unknown>>;
  /** What a second one of them has otherwise, where two may not be the same. */
  readonly another?: Readonly<Record<string, unknown>>;
  /** A change that is possible at any time, and how it shows. */
  readonly change: Readonly<Record<string, unknown>>;
  /** What the path and the body refer to. */
  readonly given?: Readonly<Record<string, Step>>;
  /** The fields of `least` that may not be left out. */
  readonly required?: readonly string[];
}

/** Creating, listing, reading, changing and deleting, and what is refused alike everywhere. */
export function conventions(family: Family): Row[] {
  const { one, many, prefix, path, collection, least, another = {}, change, given = {}, required = [] } = family;
  const make = post(path, least);
  const made = { ...given, made: make };
  const address = `${path}/{made.id}`;
  const shown = { id: '{made.id}', uri: `{base}${address}` };
  const nobody = `${path}/${prefix}_01k9zq3v5hf8svx2r4c6y7n0wd`;
  const beforeAll = `${prefix}_00000000000000000000000000`;
  const uri = new RegExp(`^{base}${path}/${prefix}_`);
  return [
    {
      rule: `Creating ${one} answers 201 with id, address and time`,
      given,
      ask: make,
      answer: { ...created({ id: idOf(prefix), uri, created_at: TIMESTAMP }), headers: { location: uri, etag: '"1"' } },
    },
    {
      rule: `Getting ${one} answers 200 with what there is`,
      given: made,
      ask: get(address),
      answer: ok({ ...shown, created_at: '{made.created_at}' }),
    },
    {
      rule: `A list of ${many} has a named array, its own address, and that of the next page; the newest come first`,
      given: { ...given, earlier: post(path, { ...renamed(least), ...another }), made: make },
      ask: get(`${path}?limit=1`),
      answer: ok({
        [collection]: [shown],
        uri: `{base}${path}`,
        next_page_uri: `{base}${path}?before_id={made.id}&limit=1`,
      }),
      later: [
        [get(`${path}?before_id={made.id}&limit=1`), ok({ [collection]: [{ id: '{earlier.id}' }] })],
        [get(`${path}?before_id=${beforeAll}`), ok({ [collection]: [], next_page_uri: null })],
      ],
    },
    {
      rule: `A page of ${many} has 1 to 100 of them`,
      given,
      ask: get(`${path}?limit=0`),
      answer: invalid({ '?limit': /from 1 to 100/ }),
      later: [
        [get(`${path}?limit=101`), invalid({ '?limit': /from 1 to 100/ })],
        [get(`${path}?limit=100`), ok({ uri: `{base}${path}` })],
      ],
    },
    {
      rule: `A page of ${many} begins after an id of theirs, not after anything else`,
      given,
      ask: get(`${path}?before_id=nonsense`),
      answer: invalid({ '?before_id': /./ }),
    },
    {
      rule: `Updating ${one} changes what is given and answers 200 with all of it`,
      given: made,
      ask: patch(address, change),
      answer: ok({ ...shown, ...change, created_at: '{made.created_at}' }),
      later: [[get(address), ok({ ...shown, ...change })]],
    },
    {
      rule: `Updating ${one} with nothing changes nothing`,
      given: made,
      ask: patch(address, {}),
      answer: { ...ok(shown), headers: { etag: '"1"' } },
    },
    {
      rule: `Deleting ${one} answers 204 without a body; afterwards there is none`,
      given: made,
      ask: del(address),
      answer: noContent,
      later: [
        [get(address), refused('NOT_FOUND', { id: '{made.id}' })],
        [del(address), refused('NOT_FOUND', { id: '{made.id}' })],
      ],
    },
    {
      rule: `What is not there cannot be read, changed or deleted: ${one}`,
      given,
      ask: get(nobody),
      answer: refused('NOT_FOUND'),
      later: [
        [patch(nobody, {}), refused('NOT_FOUND')],
        [del(nobody), refused('NOT_FOUND')],
      ],
    },
    {
      rule: `A field that ${many} do not have is refused by name`,
      given: made,
      ask: post(path, { ...least, nonsense: 1 }),
      answer: invalid({ '/nonsense': 'unknown field' }),
      later: [[patch(address, { nonsense: 1 }), invalid({ '/nonsense': 'unknown field' })]],
    },
    ...required.map((name) => ({
      rule: `${capital(one)} needs "${name}"`,
      given,
      ask: post(path, Object.fromEntries(Object.entries(least).filter(([field]) => field !== name))),
      answer: invalid({ [`/${name}`]: /./ }),
    })),
    {
      rule: `The same create request under the same key makes one of ${many}, not two`,
      given: { ...given, made: post(path, least, { headers: { 'idempotency-key': 'once-{unique}' } }) },
      ask: post(path, least, { headers: { 'idempotency-key': 'once-{unique}' } }),
      answer: { ...created(shown), headers: { 'idempotency-replayed': 'true' } },
    },
    {
      rule: `Without a key nobody sees ${many}`,
      given,
      ask: get(path, { as: 'anonymous' }),
      answer: refused('UNAUTHENTICATED'),
      later: [[post(path, least, { as: 'anonymous' }), refused('UNAUTHENTICATED')]],
    },
  ];
}

/** The same, but different in what may not be the same. */
const renamed = (body: Family['least']): Family['least'] =>
  JSON.parse(JSON.stringify(body).replaceAll('{unique}', '{unique}b'));

/** At the beginning of a sentence. */
export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
