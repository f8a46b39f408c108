/** The rows that every module has: settings of an edge or a route, without an id of their own. */

import { del, get, invalid, noContent, ok, put, type Row, refused, type Step } from './row.ts';
import { capital } from './subject.ts';

export interface ModuleFamily {
  /** As in a sentence: `the backend module of a TLS edge`. */
  readonly one: string;
  /** Last segment of its path. */
  readonly name: string;
  /** Path of its edge or route, which `given` creates. */
  readonly owner: string;
  readonly given: Readonly<Record<string, Step>>;
  /** The path of an owner that does not exist. */
  readonly nobody: string;
  /** The smallest valid PUT, and how it is shown, with every default. */
  readonly least: Readonly<Record<string, unknown>>;
  readonly shown: Readonly<Record<string, unknown>>;
  /** Other settings for all fields, and how they are shown. */
  readonly other: Readonly<Record<string, unknown>>;
  readonly otherShown: Readonly<Record<string, unknown>>;
  /** The required fields of `least`. */
  readonly required: readonly string[];
}

/** Replacing and reading, and what every module refuses. */
export function moduleConventions(family: ModuleFamily): Row[] {
  const { one, name, owner, given, nobody, least, shown, other, otherShown, required } = family;
  const address = `${owner}/${name}`;
  const make = put(address, least);
  const id = `{${owner.split('{').at(-1)?.replace('}', '')}}`;
  return [
    {
      rule: `A PUT of ${one} returns 200 with all of its settings, as does a GET`,
      given: { ...given, made: put(address, other) },
      ask: get(address),
      answer: ok(otherShown),
      later: [[put(address, other), ok(otherShown)]],
    },
    {
      rule: `A PUT of ${one} replaces all settings: fields that are left out get their default`,
      given: { ...given, made: put(address, other) },
      ask: make,
      answer: ok(shown),
      later: [[get(address), ok(shown)]],
    },
    {
      rule: `A null in a PUT of ${one} also means the default`,
      given,
      ask: put(address, { ...least, ...Object.fromEntries(optional(family).map((name) => [name, null])) }),
      answer: ok(shown),
    },
    {
      rule: `${capital(one)} can be switched off, and keeps its settings`,
      given,
      ask: put(address, { ...least, enabled: false }),
      answer: ok({ ...shown, enabled: false }),
      later: [[put(address, { ...least, enabled: true }), ok(shown)]],
    },
    {
      rule: `A change of ${one} counts as a change of its owner, which lists it`,
      given: { ...given, made: make },
      ask: get(owner),
      answer: { ...ok({ modules: [name] }), headers: { etag: '"2"' } },
    },
    {
      rule: `With If-Match, ${one} changes only at that revision of its owner`,
      given: { ...given, made: make },
      ask: put(address, other, { headers: { 'if-match': '"1"' } }),
      answer: refused('PRECONDITION_FAILED', { etag: '"2"' }),
      later: [
        [del(address, { headers: { 'if-match': '"1"' } }), refused('PRECONDITION_FAILED', { etag: '"2"' })],
        [get(address, { headers: { 'if-none-match': '"2"' } }), { status: 304 }],
        [put(address, other, { headers: { 'if-match': '"2"' } }), { ...ok(otherShown), headers: { etag: '"3"' } }],
      ],
    },
    {
      rule: `PUT, GET and DELETE of ${one} return 404 if its owner does not exist`,
      given,
      ask: put(`${nobody}/${name}`, least),
      answer: refused('NOT_FOUND'),
      later: [
        [get(`${nobody}/${name}`), refused('NOT_FOUND')],
        [del(`${nobody}/${name}`), refused('NOT_FOUND')],
      ],
    },
    {
      rule: `A PUT of ${one} may repeat the id in its path, but not name another`,
      given,
      ask: put(address, { ...least, id }),
      answer: ok(shown),
      later: [[put(address, { ...least, id: 'nonsense' }), invalid({ '/id': /in the path/ })]],
    },
    {
      rule: `A PUT of ${one} as it was read is valid, and changes nothing`,
      given: { ...given, made: put(address, other), read: get(address) },
      ask: put(address, '{read}'),
      answer: { ...ok(otherShown), headers: { etag: '"2"' } },
    },
    {
      rule: `An unknown setting of ${one} is refused by name`,
      given,
      ask: put(address, { ...least, nonsense: 1 }),
      answer: invalid({ '/nonsense': 'unknown field' }),
    },
    ...required.map((field) => ({
      rule: `A PUT of ${one} requires "${field}"`,
      given,
      ask: put(address, Object.fromEntries(Object.entries(least).filter(([other]) => other !== field))),
      answer: invalid({ [`/${field}`]: /./ }),
      later: [[put(address, { ...least, [field]: null }), invalid({ [`/${field}`]: /./ })]] as const,
    })),
  ];
}

/** Deleting; for one module, these rows are in another section. */
export function deletion({ one, name, owner, given, least }: ModuleFamily): Row {
  const address = `${owner}/${name}`;
  return {
    rule: `A DELETE of ${one} returns 204 without a body; afterwards it is not found`,
    given: { ...given, made: put(address, least) },
    ask: del(address),
    answer: noContent,
    later: [
      [get(address), refused('NOT_FOUND', { module: name })],
      [del(address), refused('NOT_FOUND', { module: name })],
      [get(owner), { ...ok({ modules: [] }), headers: { etag: '"3"' } }],
    ],
  };
}

/** Fields that a PUT may omit. */
const optional = ({ other, least }: ModuleFamily) => Object.keys(other).filter((name) => !(name in least));
