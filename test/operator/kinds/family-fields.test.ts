/**
 * What users install says of every field what its family says: the CRDs are read as generated, the families as JSON
 * schemas, and the code that makes the one from the other is left out.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { asRecord, type Json, specSchema, textOf } from '../../../dev/fixtures/crd-schema.ts';
import { type FamilyField, familyFields, isDeclarable } from '../../../src/operator/kinds/family-fields.ts';
import { ipPolicyKind } from '../../../src/operator/kinds/ip-policy.ts';
import { attachedKinds, kinds } from '../../../src/operator/kinds/kinds.ts';
import { ipPolicyRule } from '../../../src/resources/ip-policy-rule.ts';

/** The JSON schema of what a request carries, without null. */
function requestSchema(input: z.ZodType): Json {
  const { $defs, ...json } = asRecord(z.toJSONSchema(input, { io: 'input', unrepresentable: 'any', reused: 'inline' }));
  return withoutNull(asRecord(resolved(json, asRecord($defs))));
}

/** With what schemas of a name of their own have, in the place of references to them. */
function resolved(json: unknown, defs: Json): unknown {
  if (Array.isArray(json)) return json.map((each) => resolved(each, defs));
  if (typeof json !== 'object' || json === null) return json;
  const { $ref, ...others } = asRecord(json);
  const named = typeof $ref === 'string' ? asRecord(resolved(defs[$ref.replace('#/$defs/', '')], defs)) : {};
  return {
    ...named,
    ...Object.fromEntries(Object.entries(others).map(([name, each]) => [name, resolved(each, defs)])),
  };
}

function withoutNull(json: Json): Json {
  const { anyOf, ...others } = json;
  if (!Array.isArray(anyOf)) return { ...json, ...asRecord(json['x-form']) };
  const [only, ...more] = anyOf.map(asRecord).filter(({ type }) => type !== 'null');
  return only && more.length === 0 ? withoutNull({ ...only, ...others }) : json;
}

const camelCase = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** Keywords that both have, with the same meaning. */
const SAME = ['type', 'enum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];
const BOUNDS = ['minimum', 'maximum'];

/** What a kind has in a form of its own. */
const REWRITTEN = [
  // The catalogue of this release, which says more than the length of a text.
  'EventSubscription spec.sources[].type',
];

/** What differs between the family's schema and that in the CRD, by path. */
function differences(family: Json, ours: Json, path: string, sources: readonly string[]): string[] {
  if (REWRITTEN.includes(path)) return [];
  const found: string[] = [];
  for (const keyword of SAME) {
    const [wanted, given] = [family[keyword], ours[keyword]];
    if (wanted !== undefined && JSON.stringify(wanted) !== JSON.stringify(given)) {
      found.push(`${path}: ${keyword} is ${JSON.stringify(given)} instead of ${JSON.stringify(wanted)}`);
    }
  }
  for (const keyword of BOUNDS) {
    const wanted = family[keyword];
    if (typeof wanted === 'number' && Math.abs(wanted) < Number.MAX_SAFE_INTEGER && ours[keyword] !== wanted) {
      found.push(`${path}: ${keyword} is ${JSON.stringify(ours[keyword])} instead of ${wanted}`);
    }
  }
  const rules = JSON.stringify(ours['x-kubernetes-validations'] ?? []);
  const bytes = family['x-max-bytes'];
  if (bytes !== undefined && !rules.includes(`<= ${bytes}"`)) found.push(`${path}: more than ${bytes} bytes pass`);
  found.push(...patternDifferences(family, ours, path));
  if (family.items !== undefined) {
    found.push(...differences(withoutNull(asRecord(family.items)), asRecord(ours.items), `${path}[]`, sources));
  }
  if (typeof family.additionalProperties === 'object') {
    const [values, given] = [asRecord(family.additionalProperties), asRecord(ours.additionalProperties)];
    found.push(...differences(withoutNull(values), textOf(given), `${path}{}`, sources));
  }
  const members = asRecord(ours.properties);
  for (const [name, member] of Object.entries(asRecord(family.properties))) {
    const [given, at] = [asRecord(members[camelCase(name)]), `${path}.${camelCase(name)}`];
    const text = sources.includes(name) ? textOf(given) : given;
    const wanted = withoutNull(asRecord(member));
    found.push(...differences(wanted, text, at, sources));
    const isCompared = wanted.description !== undefined && !REWRITTEN.includes(at);
    if (isCompared && given.description !== wanted.description) {
      found.push(`${at}: says ${JSON.stringify(given.description)} instead of ${JSON.stringify(wanted.description)}`);
    }
  }
  const required = z
    .array(z.string())
    .parse(family.required ?? [])
    .map(camelCase);
  if (family.properties && JSON.stringify(required) !== JSON.stringify(ours.required ?? [])) {
    found.push(`${path}: requires ${JSON.stringify(ours.required)} instead of ${JSON.stringify(required)}`);
  }
  return found;
}

/** Formats that rules of their own check; test/e2e/grammar.test.ts compares them with the API. */
const CHECKED_BY_RULES = ['IPPolicy spec.rules[].cidr', 'TunnelCredential spec.acl[]'];

function patternDifferences(family: Json, ours: Json, path: string): string[] {
  // The API server knows the format itself.
  if (ours.format === 'date-time' || CHECKED_BY_RULES.includes(path)) return [];
  const rules = z
    .array(z.object({ rule: z.string() }))
    .parse(ours['x-kubernetes-validations'] ?? [])
    .map(({ rule }) => unescaped(rule));
  const names = asRecord(family.propertyNames).pattern;
  const isChecked = (pattern: unknown, rule: (text: string) => string) =>
    typeof pattern !== 'string' ||
    unescaped(String(ours.pattern)) === unescaped(pattern) ||
    rules.includes(unescaped(rule(pattern)));
  return [
    ...(isChecked(family.pattern, (text) => `self.matches('${text}')`) ? [] : [`${path}: not ${family.pattern}`]),
    ...(isChecked(names, (text) => `self.all(key, key.matches('${text}'))`) ? [] : [`${path}: keys not ${names}`]),
  ];
}

/** The same text for an expression of JavaScript, the same in RE2, and that as a string in CEL. */
const unescaped = (expression: string) =>
  expression
    .replaceAll('\\\\', '\\')
    .replaceAll("\\'", "'")
    .replaceAll(/\\x\{(\w+)\}/g, '\\u$1');

/** Fields that are declared together: those of a kind, of a rule of an IP policy, or of a module. */
interface Subject {
  readonly name: string;
  readonly path: string;
  /** All that a request may carry. */
  readonly fields: readonly FamilyField[];
  readonly schema: Json;
  readonly sources: readonly string[];
  readonly about: Readonly<Record<string, string | undefined>>;
  /** Fields that it leaves out, with the reason. */
  readonly omitted?: Readonly<Record<string, string>>;
}

const OMITTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  EventDestination: { signing_secret: 'the service makes it: what nobody has chosen, nobody else has' },
  TLSCertificate: {
    certificate_pem: 'from the Secret that secretRef names',
    private_key_pem: 'from the Secret that secretRef names',
  },
};

const RULE_ACTION = 'Whether traffic from the block is allowed or denied.';

const subjects: readonly Subject[] = [
  ...kinds.map((kind) => ({
    name: kind.kind,
    path: `${kind.kind} spec`,
    // Not those of the kind, which has only what it does not leave out.
    fields: familyFields(kind.family).filter(isDeclarable),
    schema: specSchema(kind),
    sources: kind.sources,
    about: kind.about,
    omitted: OMITTED[kind.kind] ?? {},
  })),
  {
    name: 'rule of an IPPolicy',
    path: 'IPPolicy spec.rules[]',
    fields: familyFields(ipPolicyRule).filter(isDeclarable),
    schema: asRecord(asRecord(asRecord(specSchema(ipPolicyKind).properties).rules).items),
    sources: [],
    about: { action: RULE_ACTION },
    omitted: { ip_policy_id: 'the policy in which it stands' },
  },
  ...attachedKinds.flatMap((kind) =>
    kind.modules.map(({ name, member, fields, sources }) => ({
      name: `${name} of ${kind.kind}`,
      path: `${kind.kind} spec.${member}`,
      fields,
      schema: asRecord(asRecord(specSchema(kind).properties)[member]),
      sources,
      about: {},
    })),
  ),
];

function fieldDifferences({ sources, path: at }: Subject, given: FamilyField, ours: Json): string[] {
  const { field, name, member } = given;
  const family = requestSchema(field.input);
  const path = `${at}.${member}`;
  if (field.refersTo) {
    const one = asRecord(field.refersTo && family.type === 'array' ? ours.items : ours);
    const id = JSON.stringify(asRecord(one.properties).id);
    const missing = field.refersTo.filter(({ prefix }) => !new RegExp(`[(|^]${prefix}[)|_]`).test(id));
    const { type: _, items: __, ...others } = family;
    const list = family.type === 'array' ? differences({ ...others, type: 'array' }, ours, path, []) : [];
    return [...missing.map(({ prefix }) => `${path}: takes no id with the prefix ${prefix}`), ...list];
  }
  if (sources.includes(name) && family.type === 'string') return differences(family, textOf(ours), path, []);
  return differences(family, ours, path, sources);
}

describe.each(subjects)('$name', (subject) => {
  const { schema, about, omitted = {} } = subject;
  const members = asRecord(schema.properties);
  const fields = subject.fields.filter(({ name }) => !(name in omitted));

  test('leaves nothing out without a reason', () => {
    const missing = subject.fields.filter(({ member }) => !(member in members)).map(({ name }) => name);
    expect(missing.toSorted()).toEqual(Object.keys(omitted).toSorted());
  });

  test('takes what its family takes, and nothing else', () => {
    expect(fields.flatMap((given) => fieldDifferences(subject, given, asRecord(members[given.member])))).toEqual([]);
  });

  test('requires what its family requires', () => {
    const required = z.array(z.string()).parse(schema.required ?? []);
    const names = fields.map(({ member }) => member);
    const wanted = fields.filter(({ field }) => field.onCreate === 'required').map(({ member }) => member);
    expect(required.filter((member) => names.includes(member)).toSorted()).toEqual(wanted.toSorted());
  });

  test('says what its family says', () => {
    for (const { field, name, member } of fields) {
      const own = about[name] ?? requestSchema(field.input).description;
      if (typeof own !== 'string') continue;
      expect(asRecord(members[member]).description, member).toMatch(
        new RegExp(`^${RegExp.escape(own)}( Immutable\\.)?$`),
      );
    }
  });
});
