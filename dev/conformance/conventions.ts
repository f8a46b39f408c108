/** The rows that every family has: they follow from its definition and samples. */
import { z } from 'zod';
import { withArticle, words } from '../../src/api/errors/naming.ts';
import { withoutNone } from '../../src/resources/definition/none.ts';
import { idsOf } from '../../src/resources/definition/reference.ts';
import { type Field, isShown, type Resource } from '../../src/resources/definition/resource.ts';
import type { Body } from '../../src/resources/definition/samples.ts';
import { FAMILIES } from '../../src/resources/families.ts';
import { listPath, neededBy } from '../fixtures/samples.ts';
import {
  by,
  created,
  del,
  get,
  idOf,
  invalid,
  NOBODY,
  noContent,
  not,
  ok,
  patch,
  post,
  type Row,
  refTo,
  refused,
  type Step,
  TIMESTAMP,
} from './row.ts';

/** A family in the words of its rows. */
interface Subject {
  readonly family: Resource;
  /** As in a sentence: `an IP policy`. */
  readonly one: string;
  readonly many: string;
  /** Address of the list. */
  readonly path: string;
  /** Address of the resource that is created as `made`. */
  readonly address: string;
  readonly least: Body;
  /** The resources that the path and the least body refer to. */
  readonly given: Readonly<Record<string, Step>>;
  /** The same, and the resource with the least body, as `made`. */
  readonly made: Readonly<Record<string, Step>>;
}

function subjectOf(family: Resource): Subject {
  const { name, table, samples } = family;
  const path = listPath(family);
  const { least } = samples;
  const given = givenFor(family, least);
  const made = { ...given, made: post(path, least) };
  return { family, one: withArticle(name), many: words(table), path, address: `${path}/{made.id}`, least, given, made };
}

/** The requests that must precede one with this body. */
const givenFor = (family: Resource, body: Body) =>
  Object.fromEntries(neededBy(family, body).map((other) => [other.name, post(listPath(other), other.samples.least)]));

export function conventions(family: Resource): Row[] {
  const subject = subjectOf(family);
  const rules = [operations, ownership, requiredFields, immutableFields, derivedFields, oneTimeFields, uniqueFields];
  return [...rules, defaults, numbers, texts, references, wholeBody].flatMap((rowsOf) => rowsOf(subject));
}

/** Creating, listing, reading, changing and deleting, and what every family refuses. */
function operations({ family, one, many, path, address, least, given, made }: Subject): Row[] {
  const { prefix, collection, samples } = family;
  const { change } = samples;
  const shown = { id: '{made.id}', uri: `{base}${address}` };
  const nobody = `${path}/${prefix}_${NOBODY}`;
  const uri = new RegExp(`^{base}${path.replaceAll(/\{[\w.]+\}/g, '[^/]+')}/${prefix}_`);
  const once = { headers: { 'idempotency-key': 'once-{unique}' } };
  return [
    {
      rule: `Creating ${one} returns 201 with id, address and creation time`,
      given,
      ask: post(path, least),
      answer: { ...created({ id: idOf(prefix), uri, created_at: TIMESTAMP }), headers: { location: uri, etag: '"1"' } },
    },
    {
      rule: `Getting ${one} returns 200 with the resource`,
      given: made,
      ask: get(address),
      answer: ok({ ...shown, created_at: '{made.created_at}' }),
    },
    {
      rule: `A list of ${many} has a named array, its own address and that of the next page, newest first`,
      given: { ...given, earlier: post(path, other(least)), made: post(path, least) },
      ask: get(`${path}?limit=1`),
      answer: ok({
        [collection]: [shown],
        uri: `{base}${path}`,
        next_page_uri: `{base}${path}?before_id={made.id}&limit=1`,
      }),
      later: [
        [get(`${path}?before_id={made.id}&limit=1`), ok({ [collection]: [{ id: '{earlier.id}' }] })],
        [get(`${path}?before_id=${prefix}_${'0'.repeat(26)}`), ok({ [collection]: [], next_page_uri: null })],
      ],
    },
    {
      rule: `Updating ${one} changes only the given fields and returns 200 with the whole resource`,
      given: made,
      ask: patch(address, change),
      answer: ok({ ...shown, ...change, created_at: '{made.created_at}' }),
      later: [[get(address), ok({ ...shown, ...change })]],
    },
    {
      rule: `Sending ${one} back as it was read is a valid update, and changes nothing`,
      given: { ...made, read: get(address) },
      ask: patch(address, '{read}'),
      answer: { ...ok({ ...shown, created_at: '{made.created_at}' }), headers: { etag: '"1"' } },
    },
    {
      rule: `Deleting ${one} returns 204 without a body; afterwards it is not found`,
      given: made,
      ask: del(address),
      answer: noContent,
      later: [get, del].map((send) => [send(address), refused('NOT_FOUND', { id: '{made.id}' })] as const),
    },
    {
      rule: `Reading, changing or deleting ${one} that does not exist returns 404`,
      given,
      ask: get(nobody),
      answer: refused('NOT_FOUND'),
      later: [patch(nobody, {}), del(nobody)].map((step) => [step, refused('NOT_FOUND')] as const),
    },
    {
      rule: `An unknown field of ${many} is refused by name`,
      given: made,
      ask: post(path, { ...least, nonsense: 1 }),
      answer: invalid({ '/nonsense': 'unknown field' }),
      later: [[patch(address, { nonsense: 1 }), invalid({ '/nonsense': 'unknown field' })]],
    },
    {
      rule: `Repeating the create of ${one} under the same idempotency key does not create another`,
      given: { ...given, made: post(path, least, once) },
      ask: post(path, least, once),
      answer: { ...created(shown), headers: { 'idempotency-replayed': 'true' } },
    },
  ];
}

/** Who owns a resource. */
function ownership({ family, one, many, path, least }: Subject): Row[] {
  if (family.access !== 'owner') return [];
  const make = (owner_id: unknown, as: 'admin' | 'user' | 'bot' = 'admin') =>
    post(path, { ...least, owner_id }, { as });
  return [
    {
      rule: `${capital(one)} belongs to its creator, unless an admin names another user or bot`,
      ask: post(path, least, { as: 'bot' }),
      answer: created({ owner_id: '{bot.id}' }),
      later: [
        [make('{user.id}'), created({ owner_id: '{user.id}' })],
        [make('{bot.id}', 'bot'), created({ owner_id: '{bot.id}' })],
        [make(null, 'user'), created({ owner_id: '{user.id}' })],
        [make('{user.id}', 'bot'), refused('PERMISSION_DENIED', { '/owner_id': '{user.id}' })],
        // A caller must not find out whether the owner exists.
        [make(`usr_${NOBODY}`, 'user'), refused('PERMISSION_DENIED')],
      ],
    },
    {
      rule: `The owner of ${one} must be a user or bot that exists`,
      ask: make(`bot_${NOBODY}`),
      answer: invalid({ '/owner_id': /owner \w+ does not exist/ }),
      later: [[make(`ipp_${NOBODY}`), invalid({ '/owner_id': /usr_ or bot_/ })]],
    },
    {
      rule: `A list of ${many} shows only those that the caller owns, unless the caller is an admin`,
      given: {
        owner: post('/bot_users', { name: 'a bot' }),
        key: post('/api_keys', { owner_id: '{owner.id}' }),
        own: post(path, least, by('key')),
        another: post(path, least),
      },
      ask: get(`${path}?limit=1`, by('key')),
      answer: ok({ [family.collection]: [{ id: '{own.id}', owner_id: '{owner.id}' }] }),
      later: [[get(`${path}?limit=2`), ok({ [family.collection]: [{ id: '{another.id}' }, { id: '{own.id}' }] })]],
    },
  ];
}

const requiredFields = ({ family, one, path, least, given }: Subject): Row[] =>
  fieldsOf(family, ({ onCreate }) => onCreate === 'required').map(([name]) => ({
    rule: `${capital(one)} requires "${name}"`,
    given,
    ask: post(path, Object.fromEntries(Object.entries(least).filter(([field]) => field !== name))),
    answer: invalid({ [`/${name}`]: /./ }),
  }));

/** Fields that cannot change after the create. */
const immutableFields = ({ family, one, address, made }: Subject): Row[] =>
  fieldsOf(family, ({ onCreate, onUpdate }) => onCreate !== 'derived' && !onUpdate).map(([name, field]) => {
    const shown = field.as ?? name;
    const sentBack = { [shown]: `{made.${shown}}` };
    return {
      rule: `The "${name}" of ${one} cannot be changed`,
      given: made,
      ask: patch(address, { [name]: 'another' }),
      answer: invalid({ [`/${name}`]: 'cannot be changed' }),
      later: isShown(field) && field.storage !== 'none' ? [[patch(address, sentBack), ok(sentBack)]] : [],
    };
  });

/** Fields that only the service sets. */
function derivedFields({ family, one, path, address, least, made }: Subject): Row[] {
  const isDerived = ({ onCreate, onUpdate }: Field) => onCreate === 'derived' && !onUpdate;
  const names = fieldsOf(family, isDerived).map(([name]) => name);
  const all = ['uri', 'created_at', ...names.filter((name) => name !== family.parent?.parameter)];
  const sent = Object.fromEntries(all.map((name) => [name, 'mine']));
  const answer = invalid(Object.fromEntries(all.map((name) => [`/${name}`, 'is set by the service'])));
  const rule = `A request cannot set what the service sets of ${one}`;
  return [
    { rule, given: made, ask: post(path, { ...least, ...sent }), answer, later: [[patch(address, sent), answer]] },
  ];
}

/** Tokens and secrets shown only in the response to the create. */
const oneTimeFields = ({ family, one, path, address, least, made }: Subject): Row[] =>
  fieldsOf(family, (field) => field.storage === 'none' && isShown(field)).map(([name]) => ({
    rule: `The "${name}" of ${one} is shown only when it is created; no two are the same`,
    given: made,
    ask: get(address),
    answer: ok({ id: '{made.id}', [name]: null }),
    later: [
      [patch(address, family.samples.change), ok({ [name]: null })],
      [get(`${path}?limit=1`), ok({ [family.collection]: [{ id: '{made.id}', [name]: null }] })],
      [post(path, least), created({ [name]: not(`{made.${name}}`) })],
    ],
  }));

/** Unique fields: on create and on update, the error names the resource that has the value. */
const uniqueFields = ({ family, one, path, least, given, made }: Subject): Row[] =>
  fieldsOf(family, ({ unique }) => unique !== undefined).flatMap(([name, { onUpdate }]) => {
    const taken = refused('CONFLICT', { [`/${name}`]: 'is already used by {made.id}', id: '{made.id}' });
    const onCreate: Row = {
      rule: `"${name}" must be unique: a duplicate of ${one} is refused, and the error names the existing one`,
      given: made,
      ask: post(path, least),
      answer: taken,
    };
    const onChange: Row = {
      rule: `Updating "${name}" of ${one} to a value that is already used is refused`,
      given: { ...given, made: post(path, least), second: post(path, other(least)) },
      ask: patch(`${path}/{second.id}`, { [name]: least[name] }),
      answer: taken,
    };
    return onUpdate ? [onCreate, onChange] : [onCreate];
  });

/** A field's default, when a create omits it and when an update sets it to null. */
function defaults({ family, one, path, address, least, given }: Subject): Row[] {
  const { full, change } = family.samples;
  const hasDefault = ({ input, onCreate, onUpdate, initial, as, show }: Field) =>
    onCreate === 'optional' &&
    onUpdate &&
    initial !== null &&
    as === undefined &&
    show === undefined &&
    input.safeParse(null).success;
  return fieldsOf(family, hasDefault).flatMap(([name, { initial }]): Row[] => {
    const another = [change[name], full[name]].find((value) => value !== undefined && value !== initial);
    if (another === undefined || name in least) return [];
    return [
      {
        rule: `The "${name}" of ${one} is ${JSON.stringify(initial)} by default; null restores the default`,
        given: { ...given, ...givenFor(family, { [name]: another }), made: post(path, { ...least, [name]: another }) },
        ask: patch(address, { [name]: null }),
        answer: ok({ [name]: initial }),
        later: [[post(path, other(least)), created({ [name]: initial })]],
      },
    ];
  });
}

const bounds = z.object({ type: z.literal('integer'), minimum: z.number(), maximum: z.number() });

/** Whole numbers on both sides of their limits. */
const numbers = ({ family, one, path, address, least, given }: Subject): Row[] =>
  fieldsOf(family, ({ onCreate }) => onCreate !== 'derived').flatMap(([name, { input, onUpdate }]): Row[] => {
    const number = withoutNone(input);
    if (!(number instanceof z.ZodNumber)) return [];
    const { data } = bounds.safeParse(z.toJSONSchema(number));
    if (!data) return [];
    const { minimum, maximum } = data;
    const wrong = invalid({ [`/${name}`]: /./ });
    return [
      {
        rule: `The "${name}" of ${one} is a whole number from ${minimum} to ${maximum}`,
        given: { ...given, made: post(path, { ...least, [name]: minimum }) },
        ask: post(path, { ...other(least), [name]: maximum }),
        answer: created({ [name]: maximum }),
        later: [minimum - 1, maximum + 1, minimum + 0.5, String(minimum)].flatMap((value) => [
          [post(path, { ...least, [name]: value }), wrong] as const,
          ...(onUpdate ? [[patch(address, { [name]: value }), wrong] as const] : []),
        ]),
      },
    ];
  });

/** Texts for people, on both sides of their limits. Those of event subscriptions count characters, all others bytes. */
function texts({ family, one, path, address, least, made }: Subject): Row[] {
  const limits = Object.entries({ name: 255, description: 255, metadata: 4096 });
  return limits.flatMap(([name, limit]): Row[] => {
    const field = family.fields[name];
    if (!field) return [];
    const unit = 'x-max-bytes' in (z.globalRegistry.get(withoutNone(field.input)) ?? {}) ? 'bytes' : 'characters';
    const fits = longest(limit, unit);
    const tooLong = { [name]: `${fits}x` };
    const isOptional = field.onCreate === 'optional';
    return [
      {
        rule: `The ${name} of ${one} has at most ${limit} ${unit}${isOptional ? ', or is null' : ' and is not empty'}`,
        given: made,
        ask: patch(address, { [name]: fits }),
        answer: ok({ [name]: fits }),
        later: [
          [patch(address, tooLong), invalid({ [`/${name}`]: new RegExp(`${limit} ${unit}`) })],
          [post(path, { ...least, ...tooLong }), invalid({ [`/${name}`]: new RegExp(`${limit} ${unit}`) })],
          isOptional
            ? [patch(address, { [name]: null }), ok({ [name]: null })]
            : [patch(address, { [name]: '' }), invalid({ [`/${name}`]: /empty/ })],
        ],
      },
    ];
  });
}

/** The longest text that fits, of characters that are longer than a byte where that matters. */
export function longest(limit: number, unit: 'bytes' | 'characters'): string {
  if (unit === 'characters') return '\u{1f980}'.repeat(limit);
  return 'ä'.repeat(limit >> 1) + 'x'.repeat(limit % 2);
}

/** Fields that name other resources by id. */
const references = (subject: Subject): Row[] =>
  fieldsOf(subject.family, ({ refersTo }) => refersTo !== undefined).flatMap(([name, field]) => [
    ...existing(subject, name, field),
    // A field that only an update sets depends on the type of the other resource.
    ...(field.onCreate === 'derived' ? [] : referring(subject, name, field)),
    ...(Array.isArray(field.initial) ? listed(subject, name, field) : []),
  ]);

function existing({ one, path, address, least, made }: Subject, name: string, field: Field): Row[] {
  const targets = field.refersTo ?? [];
  const at = Array.isArray(field.initial) ? `/${name}/0` : `/${name}`;
  const send = (id: string) => {
    const sent = { [name]: Array.isArray(field.initial) ? [id] : id };
    return field.onUpdate ? patch(address, sent) : post(path, { ...other(least), ...sent });
  };
  const prefixes = targets.map(({ prefix }) => `${prefix}_`).join(' or ');
  return [
    {
      rule: `The "${name}" of ${one} must exist, and be of the right family`,
      given: made,
      ask: send(`${targets[0]?.prefix}_${NOBODY}`),
      answer: invalid({ [at]: /does not exist/ }),
      later: [[send('{user.id}'), invalid({ [at]: new RegExp(prefixes) })]],
    },
  ];
}

/** How a reference is shown, and that it prevents the deletion of the other resource. */
function referring({ family, one, path, address, least, given }: Subject, name: string, field: Field): Row[] {
  const { as, initial, onUpdate, onCreate } = field;
  return FAMILIES.filter(({ name: other }) => field.refersTo?.some((target) => target.name === other)).flatMap(
    (target): Row[] => {
      const id = `{${target.name}.id}`;
      const sent = { [name]: Array.isArray(initial) ? [id] : id };
      const ref = refTo(listPath(target), target.name);
      const shown = { [as ?? name]: !as ? id : Array.isArray(initial) ? [ref] : ref };
      const needed = { ...given, ...givenFor(family, sent) };
      const referring = { ...needed, made: post(path, { ...least, ...sent }) };
      const remove = del(`${listPath(target)}/${id}`);
      const showing: Row = {
        rule: `${capital(one)} shows ${withArticle(target.name)} of its "${name}" as a Ref; null removes it`,
        given: referring,
        ask: patch(address, { [name]: null }),
        answer: ok({ [as ?? name]: initial }),
        later: [[patch(address, sent), ok(shown)]],
      };
      const inUse: Row = {
        rule: `${capital(withArticle(target.name))} cannot be deleted while ${one} refers to it; the error names the ${words(family.name)}`,
        given: referring,
        ask: remove,
        answer: refused('RESOURCE_IN_USE', { [family.name]: '{made.id}' }),
        later: [[del(address), noContent] as const, [remove, noContent] as const],
      };
      return [
        ...(onUpdate && onCreate === 'optional' ? [showing] : []),
        ...(target.deletableWhileReferenced ? [] : [inUse]),
      ];
    },
  );
}

/** Lists of ids keep their order, have no duplicates, and have a limit. */
function listed({ family, one, path, address, least, given, made }: Subject, name: string, field: Field): Row[] {
  const target = FAMILIES.find((each) => each.name === field.refersTo?.[0]?.name);
  const { maxItems = 0 } = z.object({ maxItems: z.number() }).parse(z.toJSONSchema(withoutNone(field.input)));
  if (!target) return [];
  const ids = Array.from({ length: maxItems + 1 }, (_, n) => `${target.prefix}_${NOBODY.slice(0, -2)}${10 + n}`);
  const two = {
    first: post(listPath(target), target.samples.least),
    second: post(listPath(target), target.samples.least),
  };
  const [first, second] = [refTo(target.path, 'first'), refTo(target.path, 'second')];
  return [
    {
      rule: `The "${name}" of ${one} keep their order, and an update replaces them all`,
      given: { ...given, ...two, made: post(path, { ...least, [name]: ['{first.id}'] }) },
      ask: patch(address, { [name]: ['{second.id}', '{first.id}'] }),
      answer: ok({ [field.as ?? name]: [second, first] }),
      later: [[patch(address, { [name]: [] }), ok({ [field.as ?? name]: [] })]],
    },
    {
      rule: `The "${name}" of ${one} are at most ${maxItems}, without duplicates`,
      given: { ...made, ...givenFor(family, { [name]: [`{${target.name}.id}`] }) },
      ask: patch(address, { [name]: [`{${target.name}.id}`, `{${target.name}.id}`] }),
      answer: invalid({ [`/${name}/1`]: 'is already at index 0' }),
      later: [[patch(address, { [name]: ids }), invalid({ [`/${name}`]: new RegExp(`at most ${maxItems}`) })]],
    },
  ];
}

/** Every field that a create may contain, as it is shown. */
function wholeBody({ family, one, path }: Subject): Row[] {
  const { full } = family.samples;
  const shown = fieldsOf(family, (field) => isShown(field) && field.onCreate !== 'derived').flatMap(([name, field]) => {
    const value = full[name];
    if (value === undefined) return [];
    const refs = idsOf(field.as ? value : null).map((id) => ({ id }));
    return [[field.as ?? name, field.as ? (Array.isArray(value) ? refs : refs[0]) : value] as const];
  });
  // Fields that are shown in a different form have their own rows.
  const asSent = shown.filter(([name]) => family.fields[name]?.show === undefined);
  return [
    {
      rule: `Every field that a create of ${one} accepts is stored`,
      given: givenFor(family, full),
      ask: post(path, full),
      answer: created(Object.fromEntries(asSent)),
    },
  ];
}

const fieldsOf = (family: Resource, isMeant: (field: Field) => boolean) =>
  Object.entries(family.fields).filter(([, field]) => isMeant(field));

/** The same, with another number. */
const other = (body: Body): Body => JSON.parse(JSON.stringify(body).replaceAll(/\{(n|hex)\}/g, '{$1_other}'));

/** At the beginning of a sentence. */
export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
