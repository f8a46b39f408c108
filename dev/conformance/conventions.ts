/** The rows that every family has: they follow from its definition and samples. */
import { z } from 'zod';
import { withoutNone } from '../../src/resources/definition/none.ts';
import { idsOf } from '../../src/resources/definition/reference.ts';
import { type Field, isShown, type Resource } from '../../src/resources/definition/resource.ts';
import type { Body } from '../../src/resources/definition/samples.ts';
import { accessRows } from './access-rows.ts';
import { described } from './description-rows.ts';
import { created, del, get, idOf, invalid, noContent, ok, patch, post, type Row, refused, TIMESTAMP } from './row.ts';
import { givenFor, subjectOf } from './subject.ts';

/** Creating, listing, reading, changing and deleting, and what is refused alike everywhere. */
export function conventions(family: Resource): Row[] {
  const { prefix, collection, samples } = family;
  const { one, many, path, least, given } = subjectOf(family);
  const { change } = samples;
  const make = post(path, least);
  const made = { ...given, made: make };
  const address = `${path}/{made.id}`;
  const shown = { id: '{made.id}', uri: `{base}${address}` };
  const nobody = `${path}/${prefix}_01k9zq3v5hf8svx2r4c6y7n0wd`;
  const beforeAll = `${prefix}_00000000000000000000000000`;
  const uri = new RegExp(`^{base}${path.replaceAll(/\{[\w.]+\}/g, '[^/]+')}/${prefix}_`);
  return [
    {
      rule: `Creating ${one} returns 201 with id, address and creation time`,
      given,
      ask: make,
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
      given: { ...given, earlier: post(path, other(least)), made: make },
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
      rule: `before_id of a page of ${many} must be an id of that family`,
      given,
      ask: get(`${path}?before_id=nonsense`),
      answer: invalid({ '?before_id': /./ }),
    },
    {
      rule: `Updating ${one} changes only the given fields and returns 200 with the whole resource`,
      given: made,
      ask: patch(address, change),
      answer: ok({ ...shown, ...change, created_at: '{made.created_at}' }),
      later: [[get(address), ok({ ...shown, ...change })]],
    },
    {
      rule: `An empty update of ${one} changes nothing`,
      given: made,
      ask: patch(address, {}),
      answer: { ...ok(shown), headers: { etag: '"1"' } },
    },
    {
      rule: `What is read of ${one} may be sent back in an update, which then changes nothing`,
      given: { ...made, read: get(address) },
      ask: patch(address, '{read}'),
      answer: { ...ok({ ...shown, created_at: '{made.created_at}' }), headers: { etag: '"1"' } },
      later: [
        [patch(address, { uri: 'another' }), invalid({ '/uri': 'is set by the service' })],
        [patch(address, { created_at: '2000-01-01T00:00:00Z' }), invalid({ '/created_at': 'is set by the service' })],
      ],
    },
    {
      rule: `Deleting ${one} returns 204 without a body; afterwards it is not found`,
      given: made,
      ask: del(address),
      answer: noContent,
      later: [
        [get(address), refused('NOT_FOUND', { id: '{made.id}' })],
        [del(address), refused('NOT_FOUND', { id: '{made.id}' })],
      ],
    },
    {
      rule: `Reading, changing or deleting ${one} that does not exist returns 404`,
      given,
      ask: get(nobody),
      answer: refused('NOT_FOUND'),
      later: [
        [patch(nobody, {}), refused('NOT_FOUND')],
        [del(nobody), refused('NOT_FOUND')],
      ],
    },
    {
      rule: `An unknown field of ${many} is refused by name`,
      given: made,
      ask: post(path, { ...least, nonsense: 1 }),
      answer: invalid({ '/nonsense': 'unknown field' }),
      later: [[patch(address, { nonsense: 1 }), invalid({ '/nonsense': 'unknown field' })]],
    },
    ...requiredFields(family),
    ...immutableFields(family),
    ...accessRows(family.access, subjectOf(family)),
    ...uniqueFields(family),
    ...defaults(family),
    ...numericLimits(family),
    wholeBody(family),
    {
      rule: `Repeating the create of ${one} under the same idempotency key does not create another`,
      given: { ...given, made: post(path, least, { headers: { 'idempotency-key': 'once-{unique}' } }) },
      ask: post(path, least, { headers: { 'idempotency-key': 'once-{unique}' } }),
      answer: { ...created(shown), headers: { 'idempotency-replayed': 'true' } },
    },
    {
      rule: `Reading ${many} requires an API key`,
      given,
      ask: get(path, { as: 'anonymous' }),
      answer: refused('UNAUTHENTICATED'),
      later: [[post(path, least, { as: 'anonymous' }), refused('UNAUTHENTICATED')]],
    },
  ];
}

/** Description and metadata, where the family has both. */
export function describedRows(family: Resource): Row[] {
  const { description, metadata } = family.fields;
  if (!description || !metadata) return [];
  return described({ ...subjectOf(family), unit: countsBytes(description) ? 'bytes' : 'chars' });
}

function countsBytes({ input }: Field): boolean {
  return 'x-max-bytes' in (z.globalRegistry.get(withoutNone(input)) ?? {});
}

const requiredFields = (family: Resource): Row[] => {
  const { one, path, least, given } = subjectOf(family);
  return fieldsOf(family, ({ onCreate }) => onCreate === 'required').map(([name]) => ({
    rule: `${capital(one)} requires "${name}"`,
    given,
    ask: post(path, Object.fromEntries(Object.entries(least).filter(([field]) => field !== name))),
    answer: invalid({ [`/${name}`]: /./ }),
  }));
};

/** What stays as it is for life. */
function immutableFields(family: Resource): Row[] {
  const { one, path, given, least } = subjectOf(family);
  const isFixed = ({ onCreate, onUpdate }: Field) => onCreate !== 'derived' && !onUpdate;
  return fieldsOf(family, isFixed).map(([name, field]) => {
    const shown = field.as ?? name;
    const sentBack = { [shown]: `{made.${shown}}` };
    const row: Row = {
      rule: `The "${name}" of ${one} cannot be changed`,
      given: { ...given, made: post(path, least) },
      ask: patch(`${path}/{made.id}`, { [name]: 'another' }),
      answer: invalid({ [`/${name}`]: 'cannot be changed' }),
      ...(isShown(field) && field.storage !== 'none'
        ? { later: [[patch(`${path}/{made.id}`, sentBack), ok(sentBack)]] }
        : {}),
    };
    return row;
  });
}

/** What a field is when a request leaves it out, and again when an update sets it to null. */
function defaults(family: Resource): Row[] {
  const { one, path, least, given } = subjectOf(family);
  const { full, change } = family.samples;
  const hasDefault = ({ input, onCreate, onUpdate, initial, as, show }: Field) =>
    onCreate === 'optional' &&
    onUpdate &&
    initial !== null &&
    as === undefined &&
    show === undefined &&
    input.safeParse(null).success;
  return fieldsOf(family, hasDefault).flatMap(([name, { initial }]) => {
    const another = [change[name], full[name]].find((value) => value !== undefined && value !== initial);
    if (another === undefined || name in least) return [];
    const row: Row = {
      rule: `The "${name}" of ${one} is ${JSON.stringify(initial)} by default; null restores the default`,
      given: { ...given, ...givenFor(family, { [name]: another }), made: post(path, { ...least, [name]: another }) },
      ask: patch(`${path}/{made.id}`, { [name]: null }),
      answer: ok({ [name]: initial }),
      later: [[post(path, other(least)), created({ [name]: initial })]],
    };
    return [row];
  });
}

const bounds = z.object({ type: z.literal('integer'), minimum: z.number(), maximum: z.number() });

/** Whole numbers on both sides of their limits. */
function numericLimits(family: Resource): Row[] {
  const { one, path, least, given } = subjectOf(family);
  return fieldsOf(family, ({ onCreate }) => onCreate !== 'derived').flatMap(([name, { input, onUpdate }]) => {
    const number = withoutNone(input);
    if (!(number instanceof z.ZodNumber)) return [];
    const { data } = bounds.safeParse(z.toJSONSchema(number));
    if (!data) return [];
    const { minimum, maximum } = data;
    const wrong = invalid({ [`/${name}`]: /./ });
    const row: Row = {
      rule: `The "${name}" of ${one} is a whole number from ${minimum} to ${maximum}`,
      given: { ...given, made: post(path, { ...least, [name]: minimum }) },
      ask: post(path, { ...other(least), [name]: maximum }),
      answer: created({ [name]: maximum }),
      later: [minimum - 1, maximum + 1, minimum + 0.5, String(minimum)].flatMap((value) => [
        [post(path, { ...least, [name]: value }), wrong] as const,
        ...(onUpdate ? [[patch(`${path}/{made.id}`, { [name]: value }), wrong] as const] : []),
      ]),
    };
    return [row];
  });
}

/** What only one may have; a second one is told who has it, on create and on update. */
function uniqueFields(family: Resource): Row[] {
  const { one, path, least, given } = subjectOf(family);
  return fieldsOf(family, ({ unique }) => unique !== undefined).flatMap(([name, { onUpdate }]) => {
    const taken = refused('CONFLICT', { [`/${name}`]: 'is already used by {made.id}', id: '{made.id}' });
    const onCreate: Row = {
      rule: `"${name}" must be unique: a duplicate of ${one} is refused, and the error names the existing one`,
      given: { ...given, made: post(path, least) },
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
}

/** Every field that a create may carry, as it is shown. */
function wholeBody(family: Resource): Row {
  const { one, path } = subjectOf(family);
  const { full } = family.samples;
  const shown = fieldsOf(family, (field) => isShown(field) && field.onCreate !== 'derived').flatMap(([name, field]) => {
    const value = full[name];
    if (value === undefined) return [];
    const many = Array.isArray(value);
    const refs = idsOf(field.as ? value : null).map((id) => ({ id }));
    return [[field.as ?? name, field.as ? (many ? refs : refs[0]) : value] as const];
  });
  // What shows in another form than it is sent in has rows of its own.
  const asSent = shown.filter(([name]) => family.fields[name]?.show === undefined);
  return {
    rule: `Every field that a create of ${one} accepts is stored`,
    given: givenFor(family, full),
    ask: post(path, full),
    answer: created(Object.fromEntries(asSent)),
  };
}

const fieldsOf = (family: Resource, isMeant: (field: Field) => boolean) =>
  Object.entries(family.fields).filter(([, field]) => isMeant(field));

/** The same, with another number. */
const other = (body: Body): Body => JSON.parse(JSON.stringify(body).replaceAll(/\{(n|hex)\}/g, '{$1_other}'));

/** At the beginning of a sentence. */
export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
