/**
 * What a declarative client does with a resource of each family. Such a client would plan a change again and again if a
 * response differed from what was sent, or if a request without a change counted as one.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { sampleValues } from '../../../dev/fixtures/sample-values.ts';
import { createSample } from '../../../dev/fixtures/samples.ts';
import { takesNull, withoutNone } from '../../../src/resources/definition/none.ts';
import { readOnlyInUpdate, SET_BY_SERVICE } from '../../../src/resources/definition/read-only.ts';
import { idsOf } from '../../../src/resources/definition/reference.ts';
import { type Field, isShown, type Resource } from '../../../src/resources/definition/resource.ts';
import { FAMILIES } from '../../../src/resources/families.ts';
import { timeOf } from '../../../src/resources/formats/text.ts';
import { someOf } from '../../tier.ts';
import { BASE, startTestApi } from '../harness.ts';
import { anotherThan, type Json, json, observer, SPELLINGS } from './observer.ts';

const api = await startTestApi();
const { admin } = api;
const { read, expectNoChange, expectChange, expectRefused } = observer(api);
const values = await sampleValues();
const post = async (path: string, body: object) => (await admin.post(path, body)).as(z.looseObject({ id: z.string() }));

let count = 0;
/** A new resource, with the path of its `uri` as its address. */
async function sample(family: Resource, which: 'least' | 'full') {
  const made = await createSample(post, family, which, ++count, values);
  const uri = z.string().startsWith(`${BASE}/`).parse(made.made.uri);
  return { ...made, address: uri.slice(BASE.length) };
}

const fieldsOf = (family: Resource) => Object.entries(family.fields);
const shownAs = (name: string, { as = name }: Field) => as;
/** The value that a request sends, in the form that responses show. */
const expected = ({ as, initial }: Field, sent: unknown) => (as === undefined ? (sent ?? initial) : idsOf(sent));
const shown = (name: string, field: Field, view: Json) => {
  const value = view[shownAs(name, field)];
  if (field.as === undefined) return value;
  const refs = z.array(z.object({ id: z.string() }));
  return refs.parse(Array.isArray(value) ? value : [value].filter(Boolean)).map(({ id }) => id);
};

/**
 * Fields that GET shows differently from what was sent: the sources of a subscription have addresses, and secrets are
 * never shown again.
 */
const SHOWN_OTHERWISE = ['event_subscription.sources', 'event_destination.signing_secret'];

/** For lists whose elements show more than can be set: another key of an element, which no sample has. */
const OTHER_KEYS: Readonly<Record<string, Json>> = { 'event_subscription.sources': { type: 'user_created.v0' } };
const listsOf = (family: Resource) => fieldsOf(family).flatMap(([name, { setInside }]) => (setInside ? [name] : []));

/** Values that samples cannot have: of fields that only an update sets, or that exclude other fields. */
const MORE: Readonly<Record<string, () => Promise<Json>>> = {
  async reserved_domain() {
    const configuration = async (type: string) => (await post('/endpoint_configurations', { type })).id;
    return {
      certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
      http_endpoint_configuration_id: await configuration('http'),
      https_endpoint_configuration_id: await configuration('https'),
    };
  },
};

/** Ids, enums and dates, by their schemas in the OpenAPI document: in these fields, "" means none. */
function isIdEnumOrDate({ input }: Field): boolean {
  const { data } = scalar.safeParse(z.toJSONSchema(withoutNone(input), { io: 'input', unrepresentable: 'any' }));
  if (!data) return false;
  return (
    data.enum !== undefined || /^\^\(\w+(\|\w+)*\)_/.test(data.pattern ?? '') || data['x-form']?.format !== undefined
  );
}
const scalar = z.object({
  enum: z.array(z.unknown()).optional(),
  pattern: z.string().optional(),
  'x-form': z.object({ format: z.string().optional() }).optional(),
});

const isText = ({ input }: Field) => input.safeParse('').success;

/** What was read, with "" in place of null wherever "" means none. */
function emptied(family: Resource, view: Json): Json {
  const isValue = (name: string) => {
    const field = family.fields[name];
    return field?.onUpdate === true && field.as === undefined && !isIdEnumOrDate(field);
  };
  const members = Object.entries(view).map(([name, value]) => [name, value === null && !isValue(name) ? '' : value]);
  return Object.fromEntries(members);
}

describe.each(someOf(FAMILIES).map((family) => [family.name, family] as const))('the resource %s', (_, family) => {
  test('is read as it was sent, by its address and by its id', async () => {
    const { made, body, path, address } = await sample(family, 'full');
    const { body: view } = await read(address);
    for (const [name, field] of fieldsOf(family)) {
      if (!(name in body) || !isShown(field) || SHOWN_OTHERWISE.includes(`${family.name}.${name}`)) continue;
      expect(shown(name, field, view), name).toEqual(expected(field, body[name]));
    }
    const once = fieldsOf(family).flatMap(([name, { storage }]) => (storage === 'none' ? [[name, null]] : []));
    expect({ ...made, ...Object.fromEntries(once.filter(([name]) => String(name) in view)) }).toEqual(view);
    expect((await read(`${path}/${made.id}`)).body).toEqual(view);
  });

  test('does not change when it or the response to its creation is sent back', async () => {
    for (const which of ['least', 'full'] as const) {
      const { address, made } = await sample(family, which);
      const { body } = await read(address);
      await expectNoChange('PATCH', address, made, `${which}, as it was made`);
      for (const { name, of } of SPELLINGS) await expectNoChange('PATCH', address, of(body), `${which}, ${name}`);
      await expectNoChange('PATCH', address, emptied(family, body), `${which}, with "" for null`);
      await expectNoChange('PATCH', address, {}, `${which}, with nothing`);
    }
  });

  test('does not change when the body that created it is sent again', async () => {
    for (const which of ['least', 'full'] as const) {
      const { address, body } = await sample(family, which);
      await expectNoChange('PATCH', address, body, which);
    }
  });

  test('accepts null and "" for everything that the service sets', async () => {
    const { address } = await sample(family, 'full');
    const members = Object.entries(readOnlyInUpdate(family.fields).members);
    const names = members.flatMap(([name, member]) => (member === SET_BY_SERVICE ? [name] : []));
    for (const none of [null, '']) {
      await expectNoChange('PATCH', address, Object.fromEntries(names.map((name) => [name, none])), `${none}`);
    }
  });

  test('accepts a change among members that are sent back', async () => {
    const { address } = await sample(family, 'full');
    const { body } = await read(address);
    const after = await expectChange('PATCH', address, { ...body, ...family.samples.change }, 'change');
    expect(after).toMatchObject(family.samples.change);
  });

  test.each(listsOf(family))('accepts another key in one of its %s when all else is sent back', async (list) => {
    const { address } = await sample(family, 'full');
    const { body: view } = await read(address);
    const [first, ...others] = z.array(json).parse(view[list]);
    const key = OTHER_KEYS[`${family.name}.${list}`];
    const changed = { ...view, [list]: [{ ...first, ...key }, ...others] };
    const after = await expectChange('PATCH', address, changed, list);
    expect(z.array(json).parse(after[list])[0]).toMatchObject(key ?? {});
    const unknown = { ...changed, [list]: [{ ...first, uri: anotherThan(first?.uri) }, ...others] };
    await expectRefused('PATCH', address, unknown, `/${list}/0/uri`, /^is set by the service$/);
  });

  test('refuses other values of members that cannot be set, with their name and the reason', async () => {
    const { address, body } = await sample(family, 'full');
    const { body: view } = await read(address);
    const settable = Object.keys(family.update.shape);
    // What moves by itself may have had any value when the client read it.
    const names = [...Object.keys(view), ...Object.keys(body)].filter(
      (name) => !settable.includes(name) && !family.fields[name]?.movesByItself,
    );
    for (const name of new Set(names)) {
      const other = { [name]: anotherThan(view[name] ?? body[name]) };
      const reason =
        /^(?:is set by the service|cannot be changed|shows \w+; set that|must equal the "\w+" in the path)$/;
      await expectRefused('PATCH', address, other, `/${name}`, reason);
    }
    const unknown = { nonsense: 1, uri: view.uri };
    await expectRefused('PATCH', address, unknown, '/nonsense', /^unknown field$/);
  });

  test('accepts a change of each field alone, and does not change when that is repeated', async () => {
    for (const [name, field, value] of await updates(family)) {
      const { address } = await sample(family, 'least');
      const { body: before } = await read(address);
      const after = await expectChange('PATCH', address, { [name]: value }, name);
      if (!SHOWN_OTHERWISE.includes(`${family.name}.${name}`)) {
        expect(shown(name, field, after), name).toEqual(expected(field, value));
      }
      expect(shown(name, field, after), name).not.toEqual(shown(name, field, before));
      await expectNoChange('PATCH', address, { [name]: value }, `${name} again`);
    }
  });

  test('loses each optional field in every way that clients have of clearing it', async () => {
    for (const [name, field, value] of await updates(family)) {
      if (field.onCreate === 'required') continue;
      const { address } = await sample(family, 'least');
      const { body: before } = await read(address);
      if (!takesNull(field.input)) {
        await expectRefused('PATCH', address, { [name]: null }, `/${name}`, /not null$/);
        continue;
      }
      const ways = isIdEnumOrDate(field) ? [null, ''] : [null];
      for (const none of ways) {
        await expectChange('PATCH', address, { [name]: value }, name);
        const after = await expectChange('PATCH', address, { [name]: none }, `${name} as ${JSON.stringify(none)}`);
        expect(after).toEqual(before);
        await expectNoChange('PATCH', address, { [name]: none }, `${name} as ${JSON.stringify(none)} again`);
      }
      if (isIdEnumOrDate(field)) continue;
      await expectChange('PATCH', address, { [name]: value }, name);
      if (isText(field)) {
        expect(await expectChange('PATCH', address, { [name]: '' }, name)).toMatchObject({ [name]: '' });
      } else {
        await expectRefused('PATCH', address, { [name]: '' }, `/${name}`, /^must /);
      }
    }
  });

  test('may be created with null, or "" where that means none, in any optional field', async () => {
    const least = await sample(family, 'least');
    const { body: without } = await read(least.address);
    for (const [name, field] of fieldsOf(family)) {
      if (field.onCreate === 'required') continue;
      const ways = field.onCreate === 'derived' || isIdEnumOrDate(field) ? [null, ''] : [null];
      for (const none of ways) {
        const samples = { ...family.samples, least: { ...family.samples.least, [name]: none } };
        const { address, body } = await sample({ ...family, samples }, 'least');
        // A change of access must be explicit, so it does not accept null.
        if (!field.onUpdate || takesNull(field.input)) {
          await expectNoChange('PATCH', address, body, `${name} as ${JSON.stringify(none)} again`);
        }
        const [left, sent] = [without, (await read(address)).body].map((view) => shown(name, field, view));
        // The keys, names and times that the service chooses differ each time.
        if (field.onCreate === 'derived' && !field.onUpdate) continue;
        const isChosen = typeof left === 'string' && timeOf(left) !== undefined;
        expect(isChosen ? typeof sent : sent, name).toEqual(isChosen ? 'string' : left);
      }
    }
  });
});

/** For each field that can be updated, a value other than that of the least sample. */
async function updates(family: Resource): Promise<[string, Field, unknown][]> {
  const { body, address } = await sample(family, 'full');
  // Frees its unique values.
  await admin.delete(address);
  const { body: least } = await read((await sample(family, 'least')).address);
  const known: Json = { ...body, ...family.samples.change, ...(await MORE[family.name]?.()) };
  return fieldsOf(family).flatMap(([name, field]) => {
    if (!field.onUpdate) return [];
    const now = least[shownAs(name, field)];
    const choices = [known[name], ...(choicesOf(field) ?? [])];
    const value = choices.find((each) => JSON.stringify(each) !== JSON.stringify(now) && each !== undefined);
    // A field with one choice has no other.
    if (value === undefined && choicesOf(field)?.length === 1) return [];
    if (value === undefined) throw new Error(`the samples of ${family.name} have no other value of ${name}`);
    return [[name, field, value] as [string, Field, unknown]];
  });
}

function choicesOf({ input }: Field): unknown[] | undefined {
  const inner = withoutNone(input);
  if (inner instanceof z.ZodBoolean) return [true, false];
  return inner instanceof z.ZodEnum ? inner.options : undefined;
}
