/**
 * `examples/everything.yaml` on a stage. Unlike what the rows of the kinds declare, its objects refer to each other by
 * name and take texts from Secrets and ConfigMaps: these are the stories of what moves on when such a text changes.
 */
import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { DataObject } from '../../dev/fixtures/source-texts.ts';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { API_VERSION } from '../../src/operator/contract/names.ts';
import { readIdentity } from '../../src/operator/managed/identity/identity.ts';
import type { DeclaredByRow } from './declared.ts';
import type { Scenario } from './scenarios.ts';
import type { Stage } from './stage.ts';

const texts = z.record(z.string(), z.string()).optional();
const metadata = z.object({ name: z.string() });
const ourObject = z.object({ apiVersion: z.literal(API_VERSION), kind: z.string(), metadata, spec: z.looseObject({}) });
const dataObject = z.object({
  apiVersion: z.literal('v1'),
  kind: z.enum(['Secret', 'ConfigMap']),
  metadata,
  type: z.string().optional(),
  data: texts,
  stringData: texts,
});

const FILE = new URL('../../examples/everything.yaml', import.meta.url);
const documents = parseAllDocuments(await readFile(FILE, 'utf8')).map((document) => document.toJS());
const dataObjects = documents.flatMap((each) =>
  each.apiVersion === 'v1' ? [dataObject.parse(each) as DataObject] : [],
);

/** What the API has of an object, as far as it follows from others. */
const TIED: Readonly<Record<string, NonNullable<DeclaredByRow['tied']>>> = {
  'ReservedDomain/store': (idOf) => ({
    certificate: { id: idOf('TLSCertificate/store') },
    https_endpoint_configuration: { id: idOf('EndpointConfiguration/store-https') },
  }),
  'TLSEdgeModules/store-tills': (idOf) => ({
    modules: {
      ip_restriction: { ip_policies: [{ id: idOf('IPPolicy/store-networks') }] },
      mutual_tls: { certificate_authorities: [{ id: idOf('CertificateAuthority/store-tills') }] },
      backend: { backend: { id: idOf('TunnelGroupBackend/store-tills') } },
    },
  }),
};

const declared: readonly DeclaredByRow[] = documents
  .filter(({ apiVersion }) => apiVersion === API_VERSION)
  .map((document) => {
    const {
      kind,
      metadata: { name },
      spec,
    } = ourObject.parse(document);
    const tied = TIED[`${kind}/${name}`];
    const objects = dataObjects.filter((each) => JSON.stringify(spec).includes(`"${each.metadata.name}"`));
    return { kind, name, spec, objects, body: {}, remote: {}, ...(tied && { tied }) };
  });

function the(object: string): DeclaredByRow {
  const found = declared.find(({ kind, name }) => `${kind}/${name}` === object);
  if (!found) throw new Error(`everything.yaml has no ${object}`);
  return found;
}

export async function applyEverything(stage: Stage, among: readonly DeclaredByRow[] = declared): Promise<void> {
  for (const each of among) await stage.apply(each);
}

/** The object with other texts in its Secret, and what the API has of it then. */
function withTexts(object: string, stringData: Record<string, string>, remote: object): DeclaredByRow {
  const found = the(object);
  const objects = found.objects.map((each) => (each.kind === 'Secret' ? { ...each, stringData } : each));
  return { ...found, objects, remote: { ...remote } };
}

async function renewedCertificate(): Promise<DeclaredByRow> {
  const domain = 'store.example.net';
  const names = [domain, `*.${domain}`].map((value) => ({ type: 'dns' as const, value }));
  const { pem, keyPem } = await makeCertificate({ subject: `CN=${domain}`, ca: false, names });
  return withTexts('TLSCertificate/store', { 'tls.crt': pem, 'tls.key': keyPem }, { certificate_pem: pem });
}

async function otherAuthority(): Promise<DeclaredByRow> {
  const { pem } = await makeCertificate({ subject: 'CN=Another store CA' });
  return withTexts('CertificateAuthority/store-tills', { 'ca.crt': pem }, { ca_pem: pem });
}

async function otherClientSecret(): Promise<DeclaredByRow> {
  const oidc = { client_id: 'store', client_secret: 'replaced' };
  const given = { clientId: oidc.client_id, clientSecret: oidc.client_secret };
  return withTexts('HTTPSEdgeRouteModules/store-pages', given, { modules: { oidc } });
}

interface Change {
  readonly name: string;
  /** What is there; all of it would make each point wait for every other object to settle. */
  readonly among: readonly string[];
  /** The object whose text changes. */
  readonly to: () => Promise<DeclaredByRow>;
  /** What depends on it, of which every revision has this. */
  readonly user: string;
  readonly has: { readonly column: string; readonly text: string };
}

const CHANGES: readonly Change[] = [
  {
    name: 'moves a domain to a renewed certificate',
    among: [
      'ReservedDomain/store',
      'TLSCertificate/store',
      'EndpointConfiguration/store-https',
      'IPPolicy/store-networks',
    ],
    to: renewedCertificate,
    user: 'ReservedDomain/store',
    has: { column: "payload->'certificate'->>'id'", text: 'cert_' },
  },
  {
    name: 'moves mutual TLS to another authority',
    among: [
      'TLSEdgeModules/store-tills',
      'CertificateAuthority/store-tills',
      'IPPolicy/store-networks',
      'TunnelGroupBackend/store-tills',
      'TLSEdge/store-tills',
      'ReservedDomain/store-tills',
    ],
    to: otherAuthority,
    user: 'TLSEdgeModules/store-tills',
    has: { column: "payload->>'modules'", text: 'mutual_tls' },
  },
  {
    name: 'follows another client secret',
    among: [
      'HTTPSEdgeRouteModules/store-pages',
      'HTTPSEdgeRoute/store-pages',
      'TunnelGroupBackend/store-web',
      'HTTPSEdge/store',
      'ReservedDomain/store',
      'TLSCertificate/store',
      'EndpointConfiguration/store-https',
      'IPPolicy/store-networks',
    ],
    to: otherClientSecret,
    user: 'HTTPSEdgeRouteModules/store-pages',
    has: { column: "payload->>'modules'", text: 'oidc' },
  },
];

/** They end exactly as without a crash, and meanwhile nothing is without what it had. */
export const changesOfTexts: readonly Scenario[] = CHANGES.map(({ name, among, to, user, has }) => ({
  name,
  given: ({ stage }) => applyEverything(stage, among.map(the)),
  act: async ({ stage }) => stage.apply(await to()),
  async always({ stage }, since) {
    const object = await stage.find(the(user));
    const id = (object && readIdentity(object).externalId)?.split('/').at(-1);
    const text = `select ${has.column} as had from events where id > $1 and resource_id = $2 order by id`;
    const revisions = await stage.query(text, [since, id]);
    if (revisions.length === 0) return [`${user} was not changed`];
    const without = revisions.filter(({ had }) => !String(had).includes(has.text));
    return without.map(({ had }) => `${user} had ${had}`);
  },
}));
