/** The rows that every family has: they follow from its definition and samples. */
import { idsOf } from '../../src/resources/definition/reference.ts';
import { isShown, type Resource } from '../../src/resources/definition/resource.ts';
import { fieldConventions } from './field-conventions.ts';
import { filterConventions } from './filter-conventions.ts';
import {
  by,
  created,
  del,
  get,
  idOf,
  invalid,
  NOBODY,
  noContent,
  ok,
  patch,
  post,
  type Row,
  refused,
  TIMESTAMP,
} from './row.ts';
import { capital, fieldsOf, givenFor, other, type Subject, subjectOf } from './subject.ts';

export function conventions(family: Resource): Row[] {
  const subject = subjectOf(family);
  return [operations, ownership, filterConventions, fieldConventions, wholeBody].flatMap((rowsOf) => rowsOf(subject));
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
        [make('{user.id}', 'bot'), refused('PERMISSION_DENIED', { '/owner_id': /only an admin/ })],
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
