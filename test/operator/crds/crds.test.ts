/** The CRDs that users install: what `kubectl explain` and a refused `kubectl apply` say, and the names of kinds. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { CATALOGUE } from '../../../src/api/events/catalogue.ts';
import { crdFileName } from '../../../src/operator/crds/crd.ts';
import { allKinds } from '../../../src/operator/kinds/kinds.ts';

const record = z.record(z.string(), z.unknown());
type Json = z.output<typeof record>;
const asRecord = (value: unknown): Json => record.parse(value ?? {});

const manifest = z.object({
  spec: z.object({
    names: z.object({ plural: z.string(), singular: z.string(), kind: z.string(), shortNames: z.array(z.string()) }),
    versions: z.tuple([
      z.object({
        schema: z.object({ openAPIV3Schema: record }),
        additionalPrinterColumns: z.array(
          z.object({
            name: z.string(),
            jsonPath: z.string(),
            description: z.string(),
            priority: z.int().optional(),
          }),
        ),
      }),
    ]),
  }),
});

const crds = allKinds.map((kind) => {
  const text = readFileSync(join(import.meta.dirname, '../../../crds', crdFileName(kind)), 'utf8');
  const { names, versions } = manifest.parse(parse(text)).spec;
  const [{ schema, additionalPrinterColumns: columns }] = versions;
  return { kind: kind.kind, names, columns, schema: schema.openAPIV3Schema };
});

interface Field {
  path: string;
  schema: Json;
}

/** Every field below the schema, as `kubectl explain --recursive` lists them. */
function fieldsOf(schema: Json, path: string): Field[] {
  const { properties, items, additionalProperties: values } = schema;
  const members = Object.entries(asRecord(properties)).flatMap(([name, member]) => {
    const field = { path: `${path}.${name}`, schema: asRecord(member) };
    return [field, ...fieldsOf(field.schema, field.path)];
  });
  const within = [items, values].filter((each) => typeof each === 'object');
  return [...members, ...within.flatMap((each) => fieldsOf(asRecord(each), `${path}[]`))];
}

/** What a simple path leads to; undefined for a path with a filter. */
function schemaAt(schema: Json, jsonPath: string): Json | undefined {
  if (!/^(\.\w+)+$/.test(jsonPath)) return undefined;
  return jsonPath
    .split('.')
    .slice(1)
    .reduce((at, member) => asRecord(asRecord(at.properties)[member] ?? at.additionalProperties), schema);
}

test.each(crds)('no column of $kind shows a list or an object, which kubectl prints as JSON', ({ columns, schema }) => {
  const shown = columns.filter(({ jsonPath }) => jsonPath !== '.metadata.creationTimestamp');
  const types = shown.map(({ name, jsonPath }) => [name, schemaAt(schema, jsonPath)?.type ?? 'string'] as const);
  expect(types.filter(([, type]) => type === 'array' || type === 'object')).toEqual([]);
});

const ruleIn = z.array(z.object({ rule: z.string(), message: z.string().optional() })).optional();
const rulesOf = ({ schema }: Field) => ruleIn.parse(schema['x-kubernetes-validations']) ?? [];

/** The API server knows these three itself. */
const OF_EVERY_OBJECT = ['.apiVersion', '.kind', '.metadata'];

describe.each(crds)('$kind', ({ kind, schema, columns }) => {
  const root = { path: '', schema };
  const fields = fieldsOf(schema, '').filter(({ path }) => !OF_EVERY_OBJECT.includes(path));

  test('has a sentence for every field', () => {
    const sentence = /^[\p{Lu}`].*[.)]$/su;
    const without = fields.filter(({ schema }) => !sentence.test(String(schema.description ?? '')));
    const described = without.map(({ path, schema }) => `${path}: ${schema.description}`);
    expect(described, 'describe these in src/resources with .meta({ description })').toEqual([]);
    expect(schema.description).toMatch(sentence);
    for (const { description } of columns) expect(description).toMatch(sentence);
  });

  test('has a readable message for every rule', () => {
    const rules = [root, ...fields].flatMap(rulesOf);
    expect(rules.filter(({ message = '' }) => !/[a-z]{2,} /.test(message))).toEqual([]);
  });

  // https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax
  test('escapes the reserved words of CEL, which Kubernetes 1.31 refuses as members', () => {
    const reserved =
      /\.(?:as|break|const|continue|else|for|function|if|import|in|let|loop|namespace|package|return|var|void|while)\b/;
    const rules = [root, ...fields].flatMap(rulesOf).map(({ rule }) => rule.replaceAll(/'[^']*'/g, "''"));
    expect(rules.filter((rule) => reserved.test(rule))).toEqual([]);
  });

  test('shows users no regular expression', () => {
    const text = JSON.stringify(asRecord(asRecord(schema.properties).spec));
    expect(text.match(/"pattern":"[^"]*"/g) ?? []).toEqual([]);
    expect(text.match(/"message":"[^"]*(?:\^|\[)[^"]*\$"/g) ?? []).toEqual([]);
  });

  test('names fields as in the spec, not as in the API', () => {
    const texts = [root, ...fields].flatMap((field) => [
      String(field.schema.description ?? ''),
      ...rulesOf(field).map(({ message = '' }) => message),
    ]);
    const names = new Set([...(allKinds.find((each) => each.kind === kind)?.memberNames?.keys() ?? [])]);
    const words = texts.flatMap((text) => text.match(/\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b/g) ?? []);
    expect(words.filter((word) => names.has(word))).toEqual([]);
  });

  test('has columns only for existing fields', () => {
    const known = new Set(fields.map(({ path }) => path));
    const paths = columns.flatMap(({ jsonPath }) => {
      const [path = '', names = ''] = jsonPath.replace(/\[\?.*$/, '').split('[');
      return names === '' ? [path] : [...names.matchAll(/'(\w+)'/g)].map(([, name]) => `${path}.${name}`);
    });
    // The text of a list has the name of the list.
    const isKnown = (path: string) =>
      ['.spec.', '.status.'].some((place) => known.has(path.replace('.status.columns.', place)));
    expect(paths.filter((path) => !isKnown(path) && !path.startsWith('.metadata.'))).toEqual([]);
  });

  test('has a column of its own that is always shown', () => {
    const common = ['Ready', 'ID', 'Reason', 'Age'];
    const always = columns.filter(({ priority = 0 }) => priority === 0).map(({ name }) => name);
    const own = always.filter((name) => !common.includes(name));
    expect(own, `name fields in the columns of ${kind} in src/operator/kinds`).not.toEqual([]);
    expect(always.length).toBeLessThanOrEqual(8);
  });
});

/** For fields with an address of some kind, a bare regular expression would not tell users what is wrong. */
test('invalid URLs, hosts and hosts with ports are rejected with an example', () => {
  const isAddress = /(?:^|\.)(?:url|issuer|domain|hostports|principals|match)$/;
  const addressed = crds.flatMap(({ kind, schema }) =>
    fieldsOf(schema, '')
      .filter(({ path }) => path.startsWith('.spec') && isAddress.test(path))
      .map(({ path, schema }) => ({ name: `${kind}${path}`, schema: { ...schema, ...asRecord(schema.items) } })),
  );
  expect(addressed.map(({ name }) => name)).toEqual([
    'HTTPSEdge.spec.hostports',
    'HTTPSEdgeRoute.spec.match',
    'TLSEdge.spec.hostports',
    'SSHHostCertificate.spec.principals',
    'EventDestination.spec.target.webhook.url',
    'EventDestination.spec.target.otlpLogs.url',
    'ReservedDomain.spec.domain',
    'HTTPSEdgeRouteModules.spec.oidc.issuer',
  ]);
  for (const { name, schema } of addressed) {
    const messages = rulesOf({ path: name, schema }).map(({ message }) => message);
    expect(messages, name).toContainEqual(expect.stringMatching(/^must .*, as in [^ ]+/));
    expect(schema.pattern, name).toBeUndefined();
  }
});

test('a subscription accepts the event types of the catalogue', () => {
  const subscription = crds.find(({ kind }) => kind === 'EventSubscription');
  const type = fieldsOf(subscription?.schema ?? {}, '').find(({ path }) => path === '.spec.sources[].type');
  expect(type?.schema.enum).toEqual(CATALOGUE.types.map(({ type }) => type));
});

/** Names of other resources in kubectl. If two resources share a name, kubectl takes the one that it finds first. */
const TAKEN = {
  'core Kubernetes':
    'all cs csidrivers cm configmaps cj cronjobs crd crds csr cert ds daemonsets deploy deployments ep endpoints ev events hpa ing ingress ingresses ipaddress ip svcaddress job jobs limits ns namespaces netpol no nodes pc priorityclasses pdb po pods psp pv pvc quota rc rs sa sc sts svc services servicecidr va vac secrets secret bindings leases roles rolebindings clusterroles clusterrolebindings events.k8s.io',
  'Gateway API':
    'gc gatewayclass gatewayclasses gtw gateway gateways httproute httproutes grpcroute grpcroutes tcproute tcproutes tlsroute tlsroutes udproute udproutes refgrant referencegrant referencegrants btlspolicy backendtlspolicy backendtlspolicies listenerset listenersets lset xls xlistenerset',
  'cert-manager':
    'cert certs certificate certificates cr crs certificaterequest certificaterequests issuer issuers ciss clusterissuer clusterissuers challenge challenges order orders',
  Istio:
    'vs virtualservice virtualservices dr destinationrule destinationrules se serviceentry serviceentries gw sidecar sidecars we workloadentry workloadentries wg workloadgroup workloadgroups ef envoyfilter envoyfilters pa peerauthentication peerauthentications ra requestauthentication requestauthentications ap authorizationpolicy authorizationpolicies telemetry telemetries wasmplugin wasmplugins proxyconfig proxyconfigs',
  ExternalDNS: 'dnsendpoint dnsendpoints',
};

describe('the names of the kinds', () => {
  const names = crds.flatMap(({ names: { plural, singular, shortNames } }) => [
    ...new Set([plural, singular, ...shortNames]),
  ]);

  test.each(Object.entries(TAKEN))('are not taken by %s', (_, taken) => {
    expect(names.filter((name) => taken.split(' ').includes(name))).toEqual([]);
  });

  test('differ from each other', () => {
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
    for (const { names } of crds) expect(names.shortNames.length).toBeGreaterThan(0);
  });
});

test('no kind refers to itself, directly or through others, so references cannot be circular', () => {
  const named = (schema: Json) =>
    fieldsOf(schema, '')
      .filter(({ path }) => /Refs?(\[\])?\.name$/.test(path))
      .flatMap((field) => /^Name of the (.*)\.$/.exec(String(field.schema.description))?.[1]?.split(' or ') ?? []);
  const targets = new Map(crds.map(({ kind, schema }) => [kind, named(schema)]));
  const reached = (kind: string): Set<string> => {
    const all = new Set(targets.get(kind));
    for (const each of all) for (const next of targets.get(each) ?? []) all.add(next);
    return all;
  };
  expect([...reached('HTTPSEdgeRouteModules')]).toEqual(expect.arrayContaining(['HTTPSEdgeRoute', 'HTTPSEdge']));
  expect(allKinds.filter(({ kind }) => reached(kind).has(kind))).toEqual([]);
});
