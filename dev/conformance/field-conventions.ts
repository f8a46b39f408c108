/** The rows that every field has: they follow from its definition. */
import { z } from 'zod';
import { withArticle, words } from '../../src/api/errors/naming.ts';
import { withoutNone } from '../../src/resources/definition/none.ts';
import { type Field, isShown } from '../../src/resources/definition/resource.ts';
import { FAMILIES } from '../../src/resources/families.ts';
import { listPath } from '../fixtures/samples.ts';
import {
  created,
  del,
  get,
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
} from './row.ts';
import { capital, fieldsOf, givenFor, other, type Subject } from './subject.ts';

export function fieldConventions(subject: Subject): Row[] {
  const rules = [requiredFields, immutableFields, derivedFields, oneTimeFields, uniqueFields];
  return [...rules, defaults, choices, numbers, texts, references].flatMap((rowsOf) => rowsOf(subject));
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
      // A field that may be left out has its own rows.
      later:
        isShown(field) && field.storage !== 'none' && !(field.view instanceof z.ZodOptional)
          ? [[patch(address, sentBack), ok(sentBack)]]
          : [],
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
  // An update may send back whatever it may have read.
  const moves = fieldsOf(family, ({ movesByItself, view }) => movesByItself === true && view.safeParse('mine').success);
  const others = all.filter((name) => moves.every(([moving]) => moving !== name));
  const inUpdate = invalid(Object.fromEntries(others.map((name) => [`/${name}`, 'is set by the service'])));
  return [
    { rule, given: made, ask: post(path, { ...least, ...sent }), answer, later: [[patch(address, sent), inUpdate]] },
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

/** Each value of a field with a choice, when it can change: else it may depend on other fields. */
const choices = ({ family, one, path, address, least, given }: Subject): Row[] =>
  fieldsOf(family, ({ onUpdate }) => onUpdate).flatMap(([name, { input }]): Row[] => {
    const choice = withoutNone(input);
    if (!(choice instanceof z.ZodEnum)) return [];
    return choice.options.map((value, n) => ({
      rule: `The "${name}" of ${one} may be "${value}"`,
      given: { ...given, made: post(path, { ...least, [name]: choice.options.at(n - 1) }) },
      ask: patch(address, { [name]: value }),
      answer: ok({ [name]: value }),
      later: [
        [post(path, { ...other(least), [name]: value }), created({ [name]: value })],
        [patch(address, { [name]: `${value}x` }), invalid({ [`/${name}`]: /must be/ })],
      ],
    }));
  });

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
