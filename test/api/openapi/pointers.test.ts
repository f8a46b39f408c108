/** A response shows each resource that it refers to as a Ref: an id and an address. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { FAMILIES } from '../../../src/resources/families.ts';
import { document } from './openapi-check.ts';

/** Ids shown without an address: the first two by the contract, the others following its `owner_id`. */
const PLAIN_IDS = [
  'Credential.owner_id',
  'SSHHostCertificate.ssh_certificate_authority_id',
  'APIKey.owner_id',
  'CredentialAuthentication.credential_id',
  'CredentialAuthentication.owner_id',
  // It has no address but that of the whole API.
  'Whoami.installation_id',
  // They may all be gone, and a request has no address.
  ...['Event', 'EventWithData'].flatMap((event) =>
    ['api_key_id', 'request_id', 'resource_id'].map((member) => `${event}.${member}`),
  ),
  ...['destination_id', 'event_id', 'resource_id', 'subscription_ids'].map((member) => `EventDelivery.${member}`),
  'EventReplayResult.next',
];

/** The id of this service at an OAuth or OIDC provider. */
const FOREIGN_ID = 'client_id';

const json = z.record(z.string(), z.unknown());
const schemas = z.object({ schemas: z.record(z.string(), json) }).parse(document.components).schemas;
const isObject = (node: unknown): node is Readonly<Record<string, unknown>> =>
  typeof node === 'object' && node !== null;

/** The names of the schemas that are used below this node. */
function* refsIn(node: unknown): Generator<string> {
  if (!isObject(node)) return;
  if (typeof node.$ref === 'string') yield node.$ref.replace('#/components/schemas/', '');
  for (const member of Object.values(node)) yield* refsIn(member);
}

/** The names of all schemas that responses use, nested ones included. */
function answered(): ReadonlySet<string> {
  const operation = z.object({ responses: json });
  const paths = z.record(z.string(), z.record(z.string(), operation)).parse(document.paths);
  const names = new Set<string>();
  const add = (node: unknown) => {
    for (const name of refsIn(node)) {
      if (names.has(name) || !(name in schemas)) continue;
      names.add(name);
      add(schemas[name]);
    }
  };
  for (const operations of Object.values(paths)) for (const { responses } of Object.values(operations)) add(responses);
  return names;
}

/** The pattern of an id begins with the prefix of its family. */
const isId = (schema: unknown) => /"pattern":"\^\([a-z|]+\)_\[0-7\]/.test(JSON.stringify(schema));

/** A member that shows the other resource, or part of it, with its id and address. */
const withAddress = z.object({ properties: z.looseObject({ id: json, uri: json }) });

test('no response has the id of another resource without its address', () => {
  const plain = [...answered()].flatMap((name) =>
    Object.entries(json.parse(schemas[name]?.properties ?? {}))
      .filter(([member]) => member !== 'id' && member !== FOREIGN_ID)
      .filter(([member, schema]) => /_ids?$/.test(member) || (isId(schema) && !withAddress.safeParse(schema).success))
      .map(([member]) => `${name}.${member}`),
  );
  expect(plain.toSorted()).toEqual(PLAIN_IDS.toSorted());
});

test('every id that a request may set is shown as a Ref', () => {
  const pointers = FAMILIES.flatMap(({ title, fields, view }) =>
    Object.entries(fields)
      .filter(
        ([name, { input }]) =>
          !PLAIN_IDS.includes(`${title}.${name}`) &&
          isId(z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' })),
      )
      .map(([name, { as = name }]) => ({ name: `${title}.${name}`, shown: z.object(view.shape).shape[as] })),
  );
  expect(pointers.length).toBeGreaterThan(5);
  for (const { name, shown } of pointers) {
    expect(JSON.stringify(shown && z.toJSONSchema(shown)), name).toMatch(
      /"properties":\{"id":\{"type":"string",[^}]*\},"uri":/,
    );
  }
});
