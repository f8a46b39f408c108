/** Kinds as input for random walks: those of families, and those of modules. Only for test files. */
import fc from 'fast-check';
import { asRecord, specSchema } from '../../dev/fixtures/crd-schema.ts';
import { type Choices, choicesOf } from '../../dev/fixtures/field-values.ts';
import { type Choice, type Declaration, type KindRow, kindRows } from '../../dev/fixtures/kinds.ts';
import { titleOf } from '../../dev/fixtures/module-drifts.ts';
import { fill, type Values } from '../../dev/fixtures/placeholders.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { numbered } from '../../dev/fixtures/samples.ts';
import { fromConfigMap, fromSecret, inline, renamed, type SourceStyle } from '../../dev/fixtures/source-texts.ts';
import type { Spelling } from '../../dev/fixtures/spellings.ts';
import type { Modules, ModulesRow } from '../../dev/fixtures/story-rows.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { type FamilyField, inputOf } from '../../src/operator/kinds/family-fields.ts';
import { inSnakeCase } from '../../src/operator/kinds/spelling.ts';
import { manifest } from './manifest.ts';
import { type Formats, valuesOf } from './schema-values.ts';
import { API_KEY, type Stack } from './stack.ts';

/**
 * The values of fields and of the other members of the spec, by name. `style` says where texts are kept, `byName`
 * whether references name objects.
 */
export type State = Readonly<Record<string, unknown>>;

export interface Walkable {
  readonly row: Pick<KindRow, 'name' | 'type'>;
  readonly kind: KindRow['kind'] | ModulesRow['attached'];
  readonly start: State;
  /** Changes of some members: another value, or undefined for none. */
  readonly changes: fc.Arbitrary<State>;
  declared(state: State): Pick<Declaration, 'spec' | 'objects' | 'body'>;
  /** The resource as the API shows it, without its own id and URI. */
  shown(id: string): Promise<Values>;
  /**
   * Creates a resource from this body, deletes it, and returns what the API showed.
   * @throws ApiError when the API refuses it
   */
  fresh(body: Values): Promise<Values>;
}

const STYLES: readonly SourceStyle[] = [inline, fromSecret, renamed(fromSecret), fromConfigMap, renamed(fromConfigMap)];
const shared = { style: fc.constantFrom(...STYLES), byName: fc.boolean() };
const styleOf = ({ style }: State) => STYLES.find((each) => each === style) ?? inline;

/** The values of members that have rules of their own. */
const formatsFor = (name: string): Formats => ({
  'secret.name': fc.constantFrom(`${name}-first`, `${name}-second`),
  'secret.key': fc.constantFrom('token.txt', 'other'),
  'template.labels': fc.constantFrom({}, { team: 'web' }, { team: 'ops', 'example.com/of': 'walks' }),
  'template.annotations': fc.constantFrom({}, { 'example.com/about': 'a walk' }),
  rotation: fc.record(
    { interval: fc.constantFrom('2h', '24h', '1h30m'), overlap: fc.constantFrom('1m', '30m') },
    { requiredKeys: [] },
  ),
  renewBefore: fc.constantFrom('24h', '720h'),
  namespaceSelector: fc.constantFrom({ matchLabels: { walks: name } }, { matchLabels: {}, matchExpressions: [] }),
  'rules.cidr': fc.constantFrom('10.0.0.0/8', '192.0.2.1/32', '2001:db8::/32', '::ffff:0:0/96'),
});

/** Samples and spellings, or what the schema in the CRD allows. */
function valuesOfField(given: FamilyField, { spellings }: Pick<Choices, 'spellings'>, schema: unknown) {
  const usual = fc.constantFrom(...spellings);
  // No values are made up for what must exist, such as references, nor for fields with another form in the spec.
  if (
    schema === undefined ||
    given.field.refersTo ||
    given.name === 'hostports' ||
    asRecord(schema).format === 'date-time'
  )
    return usual;
  const input = inputOf(given);
  const made = valuesOf(asRecord(schema), given.member, {}).map(
    (value): Spelling => ({ sent: inSnakeCase(input, value) }),
  );
  return fc.oneof({ weight: 3, arbitrary: usual }, { weight: 1, arbitrary: made });
}

/** Cannot change, and there is no connection that it could name. */
const CONNECTION = 'connectionRef';

/** Members of the spec that are not fields of the family, with the values that their schema allows. */
function ownMembers(kind: Walkable['kind'], fieldMembers: readonly string[], name: string) {
  const members = Object.entries(asRecord(specSchema(kind).properties)).filter(
    ([member]) => !fieldMembers.includes(member) && member !== CONNECTION,
  );
  return members.map(([member, schema]) => {
    const values = valuesOf(asRecord(schema), member, formatsFor(name));
    return [member, fc.option(values, { nil: undefined })] as const;
  });
}

/** A member of a spec that may be a reference. */
interface Referring {
  readonly member: string;
  readonly field: { readonly refersTo?: readonly { readonly name: string }[] };
}

/** Applies objects for the resources that a spec can refer to; returns a function that turns ids into names. */
async function namedTargets(stack: Stack, families: readonly string[], values: Values, name: string) {
  const named = new Map<string, { kind: string; name: string }>();
  for (const family of new Set(families)) {
    const row = kindRows.find(({ kind }) => kind.family.name === family);
    const id = asRecord(values[family]).id;
    if (!row || typeof id !== 'string') continue;
    const { spec, objects } = row.leastOf(values);
    const target = `${name}-${row.kind.singular}`;
    const observed = manifest(row.name, target, { ...spec, managementPolicy: 'Observe' }, { [ANNOTATION.adopt]: id });
    await stack.apply(...objects, observed);
    await stack.ready(row.type, target);
    named.set(id, { kind: row.name, name: target });
  }
  return (fields: readonly Referring[], spec: Values): Values =>
    Object.fromEntries(
      Object.entries(spec).map(([member, value]) => {
        const { refersTo = [] } = fields.find((each) => each.member === member)?.field ?? {};
        const byName = (ref: unknown) => {
          const { kind, name: target } = named.get(String(asRecord(ref).id)) ?? {};
          return target === undefined ? ref : { ...(refersTo.length > 1 && { kind }), name: target };
        };
        if (refersTo.length === 0) return [member, value];
        return [member, Array.isArray(value) ? value.map(byName) : byName(value)];
      }),
    );
}

const targetsOf = (fields: readonly Referring[]) =>
  fields.flatMap(({ field }) => (field.refersTo ?? []).map(({ name }) => name));

/** Numbers for resources that are created only for a comparison. */
let fresh = 100_000;

export async function walkableKind(stack: Stack, row: KindRow, n: number, name: string): Promise<Walkable> {
  const { kind } = row;
  const { client } = stack;
  const post = postTo(stack.api.url, API_KEY);
  const { choices, choose, values } = await row.declare(post, n);
  const { samples } = kind.family;
  const schemas = asRecord(specSchema(kind).properties);
  const mutable = kind.fields.flatMap((given) => {
    const own = choices.find((each) => each.name === given.name);
    return own ? [{ given, own }] : [];
  });
  const fields = mutable.map(
    ({ given, own }) => [given.name, valuesOfField(given, own, schemas[given.member])] as const,
  );
  const referring = mutable.map(({ given }) => given);
  const taken = [
    ...row.immutable,
    ...row.replaced,
    ...row.required,
    ...kind.fields.map(({ member }) => member),
    'ownerRef',
  ];
  const own = ownMembers(kind, taken, name);
  const asNamed = await namedTargets(stack, targetsOf(referring), values, name);
  const calls = kind.calls(client);
  const unique = kind.fields.filter(({ field }) => field.unique === true).map((each) => each.name);
  // A value that must be unique within its parent is free in another parent.
  const { parent } = kind.family;
  const whole = parent && (await row.declare(post, fresh++)).values[parent.of.name];
  const elsewhere = parent && { [parent.parameter]: asRecord(whole).id };

  const shown = async (id: string): Promise<Values> => {
    const { id: _, ...resource } = await calls.get(id);
    const { uri } = resource;
    const text = JSON.stringify(resource).replaceAll(uri, '{uri}');
    const rules = kind.kind === 'IPPolicy' ? await client.rulesOf(id) : [];
    const bare = rules.map(({ cidr, action, description, metadata }) => ({ cidr, action, description, metadata }));
    return { ...asRecord(JSON.parse(text)), ...(kind.kind === 'IPPolicy' && { rules: bare }) };
  };
  const create = async ({ rules, ...body }: Values): Promise<string> => {
    const isLater = (member: string) =>
      kind.fields.some((each) => each.name === member && each.field.onCreate === 'derived' && each.field.onUpdate);
    const later = Object.entries(body).filter(([member]) => isLater(member));
    const { id } = await calls.create(Object.fromEntries(Object.entries(body).filter(([member]) => !isLater(member))));
    try {
      if (later.length > 0) await calls.update(id, Object.fromEntries(later));
      if (rules) await client.replaceRules(id, { rules: rules as [] });
    } catch (error) {
      await calls.delete(id);
      throw error;
    }
    return id;
  };
  return {
    row,
    kind,
    // The value of the least sample, or none.
    start: Object.fromEntries(choices.map((each) => [each.name, each.spellings[0]])),
    changes: fc.record({ ...Object.fromEntries([...fields, ...own]), ...shared }, { requiredKeys: [] }),
    declared(state) {
      const choice = Object.fromEntries(choices.map((each) => [each.name, state[each.name]])) as Choice;
      const { spec, objects, body } = choose(choice, styleOf(state));
      const others = Object.fromEntries(own.map(([member]) => [member, state[member]]));
      return {
        spec: { ...(state.byName === true ? asNamed(referring, spec) : spec), ...others },
        objects,
        body: { ...body, ...('rules' in others && { rules: others.rules ?? [] }) },
      };
    },
    shown,
    async fresh(body) {
      const number = numbered(fresh++);
      const others = unique.map((member) => [member, fill(samples.least[member], number)]);
      const { hostports: _, ...sent } = { ...body, ...Object.fromEntries(others), ...elsewhere };
      const id = await create(sent);
      const { edge: __, ...seen } = await shown(id);
      await calls.delete(id);
      // The object has the hostports, so the fresh resource has none. The API shows them in lower case.
      const hostports = asList(body.hostports).map((each) => String(each).toLowerCase());
      return { ...seen, ...('hostports' in seen && { hostports }) };
    },
  };
}

const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

export async function walkableModules(stack: Stack, row: ModulesRow, n: number, name: string): Promise<Walkable> {
  const { attached: kind } = row;
  const { client } = stack;
  const post = postTo(stack.api.url, API_KEY);
  const { choose, values, ownerId, least } = await row.declare(post, n);
  const { ownerId: freshId } = await row.declare(post, fresh++);
  const schemas = asRecord(specSchema(kind).properties);
  const modules = kind.modules.map(({ name: module, member, fields }) => {
    const settings = asRecord(asRecord(schemas[member]).properties);
    const members = fields.map((each) => {
      const values = valuesOfField(each, choicesOf(each, titleOf(kind, module), []), settings[each.member]);
      return [each.name, values.map((spelling) => spelling?.sent)] as const;
    });
    const requiredKeys = fields.filter(({ field }) => field.onCreate === 'required').map((each) => each.name);
    return [module, fc.option(fc.record(Object.fromEntries(members), { requiredKeys }), { nil: undefined })] as const;
  });
  const own = ownMembers(kind, [kind.ownerRef, ...kind.modules.map(({ member }) => member)], name);
  const owner = { member: kind.ownerRef, field: { refersTo: [kind.ownerFamily] } };
  const fields = kind.modules.flatMap((each) => each.fields);
  const known = { ...values, [kind.ownerFamily.name]: { id: ownerId } };
  const asNamed = await namedTargets(stack, targetsOf([owner, ...fields]), known, name);
  const external = kind.external(client);
  const shown = async (id: string) => asRecord(asRecord(await external.observe(id)).modules);
  return {
    row,
    kind,
    start: {},
    changes: fc.record({ ...Object.fromEntries([...modules, ...own]), ...shared }, { requiredKeys: [] }),
    declared(state) {
      const given = modules.flatMap(([module]) => (state[module] === undefined ? [] : [[module, state[module]]]));
      // An object needs a module.
      const chosen = given.length > 0 ? Object.fromEntries(given) : least.body;
      const { spec, objects, body } = choose(chosen as Modules, styleOf(state));
      const settings = kind.modules.flatMap(({ member, fields }) =>
        spec[member] === undefined ? [] : [[member, asNamed(fields, asRecord(spec[member]))]],
      );
      const named = { ...asNamed([owner], spec), ...Object.fromEntries(settings) };
      const others = Object.fromEntries(own.map(([member]) => [member, state[member]]));
      return {
        spec: { ...(state.byName === true ? named : spec), ...others },
        objects,
        body,
      };
    },
    shown,
    async fresh(body) {
      for (const { name: module, calls } of kind.modules)
        if (body[module]) await calls(client, freshId).put(asRecord(body[module]));
      const seen = await shown(freshId);
      await external.delete(freshId);
      return seen;
    },
  };
}
