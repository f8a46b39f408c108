/** The command `plan`: what applying files would change at the API, without a write to it or to the cluster. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { certificates } from '../../dev/conformance/certificates.ts';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { API_VERSION, GROUP } from '../../src/operator/contract/names.ts';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import { type PlanConfig, plan as planFiles } from '../../src/operator/plan/command.ts';
import { cluster, kubectl } from '../harness.ts';
import { ACCOUNT, chartAccount } from './chart-account.ts';
import { runCommand } from './command.ts';
import { API_KEY, eventually, type Manifest, manifest, ours, POLICIES, policy, SECRETS, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'plan' });
const { kubeconfigPath } = await cluster();
const pem = await certificates();
const folder = await mkdtemp(join(tmpdir(), 'plan-'));
const inputs = await mkdtemp(join(tmpdir(), 'planned-'));
afterAll(() => Promise.all([folder, inputs].map((each) => rm(each, { recursive: true, force: true }))));

const { namespace } = stack;
const AUTHORITIES = ours('certificateauthorities');
const CONFIGURATIONS = ours('endpointconfigurations');
const BACKENDS = ours('httpresponsebackends');

const object = (kind: string, name: string, spec: object, annotations = {}) =>
  manifest({ name: kind }, name, spec, annotations);
const core = (kind: 'Secret' | 'ConfigMap', name: string, content: object) => ({
  apiVersion: 'v1',
  kind,
  metadata: { name },
  ...content,
});

const ENV = {
  TUNNEL_API_URL: stack.api.url,
  TUNNEL_API_KEY: API_KEY,
  KUBECONFIG: kubeconfigPath,
  HOME: folder,
};

const text = (objects: readonly object[]) => objects.map((each) => JSON.stringify(each)).join('\n---\n');

const CONFIG = {
  apiUrl: stack.api.url,
  apiKey: API_KEY,
  apiTimeoutMs: 10_000,
  kubeconfig: kubeconfigPath,
  kubeTimeoutMs: 10_000,
  namespace,
  adoptNamespaces: undefined,
  allowUserApiKeys: false,
  output: 'text',
} as const;

let planned = 0;

/** The plan for these objects. As a command it takes as long again to start; some of the tests do that. */
async function plan(objects: readonly object[], config: Partial<PlanConfig> = {}) {
  const file = join(inputs, `${++planned}.yaml`);
  await writeFile(file, text(objects));
  const { output, exitCode } = await planFiles({ ...CONFIG, files: [file], ...config });
  return { code: exitCode, stdout: output };
}

/** Everything that a write would change. */
async function state() {
  const types = [
    ...allKinds.map(({ plural }) => ours(plural)),
    SECRETS,
    { group: '', version: 'v1', plural: 'configmaps' },
  ];
  const lists = await Promise.all(types.map((each) => stack.kube.list(each, { namespace })));
  const versions = lists.flatMap(({ items }) =>
    items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`),
  );
  return { versions, events: await stack.sql('select count(*) as n from events') };
}

const nothing = '0 to create, 0 to change, 0 to replace';

let before = await state();

describe('plan', () => {
  let apiLines = 0;
  /** Applies what the test needs; what comes after this must write nothing. */
  async function given(...manifests: Manifest[]) {
    if (manifests.length > 0) await stack.apply(...manifests);
    for (const { kind, metadata } of manifests) {
      const declared = allKinds.find((each) => each.kind === kind);
      if (declared) await stack.ready(ours(declared.plural), metadata.name);
    }
    before = await state();
    apiLines = stack.apiLogs.length;
  }
  afterEach(async () => {
    expect(await state()).toEqual(before);
    const writes = stack.apiLogs.slice(apiLines).filter((line) => /"method":"(?:POST|PUT|PATCH|DELETE)"/.test(line));
    expect(writes).toEqual([]);
  });

  test('shows each field of what would be created', async () => {
    await given();
    const rules = [{ cidr: '192.0.2.0/24', action: 'allow' }];
    const input = text([policy('new', { description: 'office', rules })]);
    const { code, stdout, stderr } = await runCommand(['plan', '-f', '-', '-n', namespace], ENV, input);
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
    expect(stdout).toBe(
      [
        `+ create IPPolicy ${namespace}/new`,
        '    spec.description: "office"',
        '    spec.rules[192.0.2.0/24].cidr: "192.0.2.0/24"',
        '    spec.rules[192.0.2.0/24].action: "allow"',
        '',
        'Plan: 1 to create, 0 to change, 0 to replace, 0 without a change, 0 blocked.',
        '',
      ].join('\n'),
    );
  });

  test('says when there is nothing to do, and what differs otherwise, to the member', async () => {
    const rule = { cidr: '192.0.2.0/24', action: 'allow' };
    await given(policy('known', { description: 'a', rules: [rule, { cidr: '10.0.0.0/8', action: 'deny' }] }));
    const { id } = (await stack.see(POLICIES, 'known')).status;
    const same = await plan([
      policy('known', { description: 'a', rules: [{ cidr: '10.0.0.0/8', action: 'deny' }, rule] }),
    ]);
    expect(same.stdout).toContain(`= no change IPPolicy ${namespace}/known (${id})\n`);
    expect(same.stdout).toContain(`Plan: ${nothing}, 1 without a change, 0 blocked.`);
    expect(same.code).toBe(0);

    const rules = [rule, { cidr: '10.0.0.0/8', action: 'allow' }];
    const changed = await plan([policy('known', { rules })]);
    expect(changed).toMatchObject({ code: 2 });
    expect(changed.stdout.split('\n').slice(0, 3)).toEqual([
      `~ change IPPolicy ${namespace}/known (${id})`,
      '    spec.description: "a" → (none)',
      '    spec.rules[10.0.0.0/8].action: "deny" → "allow"',
    ]);
    const { stdout, code } = await plan([policy('known', { rules })], { output: 'json' });
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      notes: [],
      summary: { create: 0, change: 1, replace: 0, none: 0, blocked: 0 },
      objects: [
        {
          kind: 'IPPolicy',
          namespace,
          name: 'known',
          action: 'change',
          id,
          changes: [
            { path: 'spec.description', before: 'a', after: null },
            { path: 'spec.rules[10.0.0.0/8].action', before: 'deny', after: 'allow' },
          ],
        },
      ],
    });
  });

  test('finds what objects refer to in the files and in the cluster, in any order', async () => {
    await given(
      policy('in-cluster'),
      object('EndpointConfiguration', 'ec', { type: 'http', ipPolicyRefs: [{ name: 'in-cluster' }] }),
    );
    const { id } = (await stack.see(CONFIGURATIONS, 'ec')).status;
    const ec = (...names: string[]) =>
      object('EndpointConfiguration', 'ec', { type: 'http', ipPolicyRefs: names.map((name) => ({ name })) });
    expect(await plan([ec('in-cluster')])).toMatchObject({ code: 0 });
    const { code, stdout } = await plan([ec('in-cluster', 'in-file'), policy('in-file')]);
    expect(code).toBe(2);
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      `~ change EndpointConfiguration ${namespace}/ec (${id})`,
      `    spec.ipPolicyRefs: ["IPPolicy in-cluster"] → ["IPPolicy in-cluster","IPPolicy in-file"]`,
      `+ create IPPolicy ${namespace}/in-file`,
    ]);
    const missing = await plan([ec('in-cluster', 'nowhere')]);
    expect(missing.code).toBe(1);
    expect(missing.stdout).toContain(
      `! blocked EndpointConfiguration ${namespace}/ec (spec.ipPolicyRefs[1]: IPPolicy ${namespace}/nowhere does not exist)`,
    );
  });

  test('is not confused by a kind of another group that has the same name', async () => {
    await given();
    const referring = object('EndpointConfiguration', 'near', { type: 'http', ipPolicyRefs: [{ name: 'office' }] });
    const foreign = { apiVersion: 'ingress.example.com/v1', kind: 'IPPolicy', metadata: { name: 'office' } };
    const { code, stdout } = await plan([policy('office'), referring, foreign]);
    expect(stdout).toContain('spec.ipPolicyRefs: ["IPPolicy office"]');
    expect(code).toBe(2);
  });

  test('asks for the grant of another namespace, which a file may hold', async () => {
    await given();
    const spec = { type: 'http', ipPolicyRefs: [{ name: 'far', namespace: 'elsewhere' }] };
    const far = { ...policy('far'), metadata: { name: 'far', namespace: 'elsewhere' } };
    const near = object('EndpointConfiguration', 'near', spec);
    const nowhere = await plan([near, far]);
    expect(nowhere.code).toBe(1);
    expect(nowhere.stdout).toContain('! blocked IPPolicy elsewhere/far (namespace elsewhere does not exist)');
    const objects = [near, far, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'elsewhere' } }];
    const refused = await plan(objects);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain('no ReferenceGrant in namespace elsewhere permits references');
    const grant = {
      apiVersion: 'gateway.networking.k8s.io/v1beta1',
      kind: 'ReferenceGrant',
      metadata: { name: 'near', namespace: 'elsewhere' },
      spec: {
        from: [{ group: GROUP, kind: 'EndpointConfiguration', namespace }],
        to: [{ group: GROUP, kind: 'IPPolicy' }],
      },
    };
    const granted = await plan([...objects, grant]);
    expect(granted.stdout).toContain('spec.ipPolicyRefs: ["IPPolicy elsewhere/far"]');
    expect(granted.stdout).toContain(
      'Note: IPPolicy objects of it were not checked against the rules of the cluster: namespace elsewhere does not exist yet',
    );
    expect(granted.code).toBe(2);
  });

  test('reads sources from files and cluster, and of Secrets shows only that they change', async () => {
    const spec = {
      body: { secretKeyRef: { name: 'page', key: 'html' } },
      headers: { 'x-note': { configMapKeyRef: { name: 'page', key: 'note' } } },
    };
    await stack.apply(
      core('Secret', 'page', { stringData: { html: 'hidden one' } }) as Manifest,
      core('ConfigMap', 'page', { data: { note: 'seen one' } }) as Manifest,
    );
    await given(object('HTTPResponseBackend', 'page', spec));
    const { id } = (await stack.see(BACKENDS, 'page')).status;
    const backend = object('HTTPResponseBackend', 'page', spec);
    expect(await plan([backend])).toMatchObject({ code: 0 });

    const secret = core('Secret', 'page', { stringData: { html: 'hidden two' } });
    const map = core('ConfigMap', 'page', { data: { note: 'seen two' } });
    const changed = await plan([secret, map, backend]);
    expect(changed.code).toBe(2);
    expect(changed.stdout.split('\n').slice(0, 3)).toEqual([
      `~ change HTTPResponseBackend ${namespace}/page (${id})`,
      '    spec.body: (secret) changed',
      '    spec.headers.x-note: "seen one" → "seen two"',
    ]);
    // What is no secret any more was one until now.
    const inline = await plan([object('HTTPResponseBackend', 'page', { ...spec, body: { value: 'open' } })], {
      output: 'json',
    });
    expect(JSON.parse(inline.stdout).objects[0].changes).toEqual([{ path: 'spec.body', secret: 'changed' }]);
    const created = await plan([secret, object('HTTPResponseBackend', 'other', spec)]);
    expect(created.stdout).toContain('    spec.body: (secret)\n');
    for (const { stdout } of [changed, inline, created]) expect(stdout).not.toContain('hidden');
    const missing = await plan([
      object('HTTPResponseBackend', 'page', { body: { secretKeyRef: { name: 'no', key: 'x' } } }),
    ]);
    expect(missing.stdout).toContain(`(spec.body: Secret ${namespace}/no does not exist)`);
    expect(missing.code).toBe(1);
  });

  test('says what is replaced, and why', async () => {
    const authority = (text: string) => object('CertificateAuthority', 'ca', { caPem: { value: text } });
    await given(authority(pem.ca));
    const { id } = (await stack.see(AUTHORITIES, 'ca')).status;
    const { code, stdout } = await plan([authority(pem.ca_expired)]);
    expect(code).toBe(2);
    expect(stdout).toContain(
      `-/+ replace CertificateAuthority ${namespace}/ca (${id}: spec.caPem changed, which ${id} cannot take)\n    spec.caPem: "-----BEGIN`,
    );
    expect(stdout).toContain('Plan: 0 to create, 0 to change, 1 to replace');
  });

  test('takes a certificate from its Secret without showing it; what refers to it moves on when it is replaced', async () => {
    const secret = (chain: string, key: string) =>
      core('Secret', 'tls', { stringData: { 'tls.crt': chain, 'tls.key': key } });
    const certificate = object('TLSCertificate', 'cert', { secretRef: { name: 'tls' } });
    const domain = object('ReservedDomain', 'shop', { domain: 'shop.example.com', certificateRef: { name: 'cert' } });
    const [first, second] = await Promise.all([makeCertificate({ ca: false }), makeCertificate({ ca: false })]);
    await given();
    const created = await plan([secret(first.pem, first.keyPem), certificate]);
    expect(created.code).toBe(2);
    expect(created.stdout).toContain('spec.secretRef.tls.crt: (secret)');

    await stack.apply(secret(first.pem, first.keyPem) as Manifest);
    await given(certificate, domain);
    const same = await plan([domain, certificate]);
    expect(same.stdout).toContain(`Plan: ${nothing}, 2 without a change, 0 blocked.`);
    const { id } = (await stack.see(ours('tlscertificates'), 'cert')).status;
    const renewed = await plan([secret(second.pem, second.keyPem), domain, certificate]);
    expect(renewed.code).toBe(2);
    expect(renewed.stdout).toContain(`    spec.certificateRef: "${id}" → "TLSCertificate cert"\n`);
    expect(renewed.stdout).toContain(`-/+ replace TLSCertificate ${namespace}/cert (${id}: `);
    expect(renewed.stdout).toContain('(secret) changed');
    for (const { stdout } of [created, renewed]) expect(stdout).not.toMatch(/BEGIN|MII/);
  });

  test('adopts as the operator does', async () => {
    const theirs = await stack.client.ipPolicies.create({ description: 'theirs' });
    await given();
    const adopting = (spec: object, id: string) => plan([policy('adopting', spec, { [`${GROUP}/adopt`]: id })]);
    const same = await adopting({ description: 'theirs' }, theirs.id);
    expect(same.stdout).toContain(`= no change IPPolicy ${namespace}/adopting (${theirs.id}: adopted)`);
    expect(same.code).toBe(0);
    const changed = await adopting({ description: 'ours' }, theirs.id);
    expect(changed.stdout).toContain('spec.description: "theirs" → "ours"');
    expect(changed.code).toBe(2);
    const gone = await adopting({}, 'ipp_01jd0000000000000000000000');
    expect(gone.stdout).toContain('ipp_01jd0000000000000000000000, which is to be adopted, does not exist');
    expect(gone.code).toBe(1);
    expect((await adopting({}, 'cr_01jd0000000000000000000000')).stdout).toContain('is no id of this kind');
  });

  test('shows what was changed at the API behind the back of the operator, or is gone there', async () => {
    await given(policy('drifting', { description: 'ours' }));
    const id = String((await stack.see(POLICIES, 'drifting')).status.id);
    await stack.client.ipPolicies.update(id, { description: 'theirs' });
    await given();
    const drifted = await plan([policy('drifting', { description: 'ours' })]);
    expect(drifted.stdout).toContain('spec.description: "theirs" → "ours"');
    await stack.client.ipPolicies.delete(id);
    await given();
    const gone = await plan([policy('drifting', { description: 'ours' })]);
    expect(gone.stdout).toContain(`+ create IPPolicy ${namespace}/drifting (${id} no longer exists)`);
    expect(gone.code).toBe(2);
  });

  test('does not plan for what is paused, only observed, wrong, or cannot change', async () => {
    await given(object('EndpointConfiguration', 'fixed', { type: 'http' }));
    const objects = [
      policy('paused', {}, { [`${GROUP}/paused`]: 'true' }),
      policy('observed', { managementPolicy: 'Observe' }),
      policy('typo', { descripton: 'x' }),
      policy('wrong', { rules: [{ cidr: 'x', action: 'maybe' }] }),
      object('EndpointConfiguration', 'fixed', { type: 'https' }),
      object('Tunnel', 'unknown', {}),
    ];
    const { code, stdout } = await plan(objects);
    expect(code).toBe(1);
    expect(stdout).toContain(`= no change IPPolicy ${namespace}/paused (paused)`);
    expect(stdout).toContain(`= no change IPPolicy ${namespace}/observed (only observed)`);
    expect(stdout).toContain(`! blocked IPPolicy ${namespace}/typo (spec.descripton: unknown field)`);
    expect(stdout).toMatch(new RegExp(`! blocked IPPolicy ${namespace}/wrong \\(spec\\.rules\\[0\\]\\.`));
    expect(stdout).toMatch(/! blocked EndpointConfiguration .*spec\.type: .*type is immutable; delete this object/);
    expect(stdout).toContain(`the operator has no kind Tunnel of ${API_VERSION}`);
    expect(stdout).toContain(`Plan: ${nothing}, 2 without a change, 4 blocked.`);
  });

  test('shows the modules of edges and routes, setting by setting', async () => {
    const oidc = { issuer: 'https://a.example.com', clientId: { value: 'portal' } };
    const clientSecret = { secretKeyRef: { name: 'oidc', key: 'secret' } };
    const modules = (settings: object) =>
      object('HTTPSEdgeRouteModules', 'portal', { routeRef: { name: 'portal' }, ...settings });
    const route = object('HTTPSEdgeRoute', 'portal', {
      edgeRef: { name: 'portal' },
      match: '/',
      matchType: 'path_prefix',
    });
    const secret = (text: string) => core('Secret', 'oidc', { stringData: { secret: text } });
    const all = [object('HTTPSEdge', 'portal', {}), route, modules({ oidc: { ...oidc, clientSecret } })];
    await given();
    const created = await plan([...all, secret('hidden one')]);
    expect(created).toMatchObject({ code: 2 });
    const lines = created.stdout.slice(created.stdout.indexOf('+ create HTTPSEdgeRouteModules')).split('\n');
    expect(lines.filter((line) => !/: (false|0|true|"")$/.test(line)).slice(0, 6)).toEqual([
      `+ create HTTPSEdgeRouteModules ${namespace}/portal`,
      '    spec.routeRef: "HTTPSEdgeRoute portal"',
      '    spec.oidc.issuer: "https://a.example.com"',
      '    spec.oidc.clientId: "portal"',
      '    spec.oidc.clientSecret: (secret)',
      '    spec.oidc.scopes: []',
    ]);

    await stack.apply(secret('hidden one') as Manifest);
    await given(...all);
    const { status } = await eventually(async () => {
      const seen = await stack.see(ours('httpsedgeroutes'), 'portal');
      expect(seen.status.modules).toEqual(['oidc']);
      return seen;
    });
    const id = String(status.id);
    await given();
    const same = await plan(all);
    expect(same.stdout).toContain(`= no change HTTPSEdgeRouteModules ${namespace}/portal (${id})`);
    expect(same.code).toBe(0);
    // With the secret as it is, only what changes is listed.
    const changed = await plan([modules({ oidc: { ...oidc, issuer: 'https://b.example.com', clientSecret } })]);
    expect(changed.stdout.split('\n').slice(0, 3)).toEqual([
      `~ change HTTPSEdgeRouteModules ${namespace}/portal (${id})`,
      '    spec.oidc.issuer: "https://a.example.com" → "https://b.example.com"',
      '',
    ]);
    const renewed = await plan([...all, secret('hidden two')]);
    expect(renewed.stdout).toContain('    spec.oidc.clientSecret: (secret) changed\n\n');
    expect(renewed.code).toBe(2);
    const github = { clientId: { value: 'x' }, clientSecret, teams: ['acme/admins'] };
    const switched = await plan([modules({ oauth: { provider: { github } } })]);
    expect(switched.stdout).toContain('    spec.oidc.issuer: "https://a.example.com" → (none)');
    expect(switched.stdout).toContain('    spec.oidc.clientSecret: (secret) changed');
    expect(switched.stdout).toContain('    spec.oauth.provider.github.teams: (none) → ["acme/admins"]');
    expect(switched.stdout).toContain('    spec.oauth.provider.github.clientSecret: (secret) changed');
    for (const { stdout } of [created, changed, renewed, switched]) expect(stdout).not.toContain('hidden');

    const other = object('HTTPSEdgeRoute', 'other', {
      edgeRef: { name: 'portal' },
      match: '/x',
      matchType: 'path_prefix',
    });
    const moved = await plan([other, object('HTTPSEdgeRouteModules', 'portal', { routeRef: { name: 'other' } })]);
    expect(moved.stdout).toContain(
      `-/+ replace HTTPSEdgeRouteModules ${namespace}/portal (spec.routeRef changed: the modules of ${id} are deleted)`,
    );
  });

  test('says what the API server would refuse: rules of the CRDs, and what cannot change', async () => {
    await given(object('EndpointConfiguration', 'kept', { type: 'http' }), object('TLSEdge', 'kept', {}));
    const objects = [
      object('ReservedDomain', 'both', {
        domain: 'both.example.com',
        certificateRef: { name: 'x' },
        certificateManagementPolicy: { authority: 'letsencrypt', privateKeyType: 'ecdsa' },
      }),
      object('EndpointConfiguration', 'kept', { type: 'tcp' }),
      { ...policy('Upper'), metadata: { name: 'Upper' } },
      object('TLSEdgeModules', 'deep', { tlsEdgeRef: { name: 'kept' }, backend: { backendReff: {} } }),
    ];
    const { code, stdout } = await plan(objects);
    expect(code).toBe(1);
    expect(stdout).toContain('certificateRef cannot be combined with certificateManagementPolicy');
    expect(stdout).toMatch(/! blocked EndpointConfiguration .*type is immutable/);
    expect(stdout).toMatch(/! blocked IPPolicy \S+\/Upper \(metadata\.name: Invalid value: "Upper"/);
    expect(stdout).toMatch(/! blocked TLSEdgeModules .*backendReff/);
    expect(stdout).toContain(`Plan: ${nothing}, 0 without a change, 4 blocked.`);
    // A name that differs from the one in the cluster only by what is set beside the spec.
    const labelled = { ...policy('labelled'), metadata: { name: 'labelled', labels: { a: 'b' } } };
    expect(await plan([labelled])).toMatchObject({ code: 2 });
  });

  test('says where nothing may be adopted, whether or not it exists', async () => {
    const { id } = await stack.client.tlsEdges.create({});
    await given();
    const refused = (each: object) => plan([each], { adoptNamespaces: ['elsewhere'] });
    for (const adopted of [id, 'edgtls_01jd0000000000000000000000']) {
      const { code, stdout } = await refused(object('TLSEdge', 'theirs', {}, { [`${GROUP}/adopt`]: adopted }));
      expect(code).toBe(1);
      expect(stdout).toContain(`existing resources may be neither adopted nor observed from namespace ${namespace}`);
      const modules = await refused(object('TLSEdgeModules', 'theirs', { tlsEdgeRef: { id: adopted } }));
      expect(modules.stdout).toContain(`nothing may be named by its id from namespace ${namespace}`);
    }
    expect(await refused(object('TLSEdge', 'own', {}))).toMatchObject({ code: 2 });
    const theirs = text([object('TLSEdge', 'theirs', {}, { [`${GROUP}/adopt`]: id })]);
    const args = ['plan', '-f', '-', '-n', namespace, '--adopt-namespaces', namespace];
    expect(await runCommand(args, ENV, theirs)).toMatchObject({ code: 0 });
  });

  test('says which ids do not exist, except those that the resource has already', async () => {
    const [kept, gone] = [await stack.client.ipPolicies.create({}), await stack.client.ipPolicies.create({})];
    const backend = await stack.client.tunnelGroupBackends.create({ labels: { app: 'web' } });
    const nowhere = (prefix: string) => ({ id: `${prefix}_01jd0000000000000000000000` });
    const ec = (...ids: object[]) => object('EndpointConfiguration', 'by-id', { type: 'http', ipPolicyRefs: ids });
    await stack.apply(ec({ id: gone.id }));
    await given(ec({ id: gone.id }), object('TLSEdge', 'by-id', {}));
    await stack.client.ipPolicies.delete(gone.id);
    await given();
    expect((await plan([ec({ id: gone.id }, { id: kept.id })])).stdout).toContain('~ change EndpointConfiguration');

    const modules = (ref: object) =>
      object('TLSEdgeModules', 'by-id', { tlsEdgeRef: { name: 'by-id' }, backend: { backendRef: ref } });
    const { code, stdout } = await plan([
      ec({ id: gone.id }, nowhere('ipp')),
      object('ReservedDomain', 'by-id', { domain: 'by-id.example.com', certificateRef: nowhere('cert') }),
      object('TunnelCredential', 'by-id', { ownerId: nowhere('usr').id }),
      object('HTTPSEdgeRoute', 'by-id', { edgeRef: nowhere('edghts'), match: '/', matchType: 'path_prefix' }),
      modules(nowhere('bkdtg')),
    ]);
    expect(code).toBe(1);
    const said = [...stdout.matchAll(/^! blocked (\w+) \S+ \((.*)\)$/gm)].map(([, kind, why]) => [kind, why]);
    expect(said).toEqual([
      ['EndpointConfiguration', `spec.ipPolicyRefs[1].id: ${nowhere('ipp').id} does not exist`],
      ['ReservedDomain', `spec.certificateRef.id: ${nowhere('cert').id} does not exist`],
      ['TunnelCredential', `spec.ownerId: ${nowhere('usr').id} does not exist`],
      ['HTTPSEdgeRoute', `spec.edgeRef.id: ${nowhere('edghts').id} does not exist`],
      ['TLSEdgeModules', `spec.backend.backendRef.id: ${nowhere('bkdtg').id} does not exist`],
    ]);
    expect(await plan([modules({ id: backend.id })])).toMatchObject({ code: 2 });
  });

  test('says whose keys would have the rights of a user, unless they may', async () => {
    await given();
    const key = (spec: object) => object('APIKey', 'key', spec);
    const refused = await plan([key({})]);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toMatch(/! blocked APIKey \S+ \(an APIKey must belong to a bot: set spec\.ownerRef/);
    const owned = await plan([key({ ownerRef: { name: 'bot' } }), object('BotUser', 'bot', { name: 'bot' })]);
    expect(owned.stdout).toContain('+ create APIKey');
    expect((await plan([key({})], { allowUserApiKeys: true })).stdout).toContain('+ create APIKey');
  });

  test('says which other object manages the same already', async () => {
    await given(object('TLSEdge', 'mine', {}), object('TLSEdgeModules', 'mine', { tlsEdgeRef: { name: 'mine' } }));
    const id = String((await stack.see(ours('tlsedges'), 'mine')).status.id);
    const free = await stack.client.tlsEdges.create({});
    await given();
    const adopting = (name: string, adopted: string) => object('TLSEdge', name, {}, { [`${GROUP}/adopt`]: adopted });
    const { code, stdout } = await plan([
      object('TLSEdge', 'mine', {}),
      // What others refer to has its place in the files like the rest.
      object('TLSEdgeModules', 'of-second', { tlsEdgeRef: { name: 'second' } }),
      adopting('theirs', id),
      adopting('first', free.id),
      adopting('second', free.id),
      object('TLSEdgeModules', 'mine', { tlsEdgeRef: { name: 'mine' } }),
      object('TLSEdgeModules', 'also-mine', { tlsEdgeRef: { name: 'mine' } }),
      object('TLSEdge', 'observed', { managementPolicy: 'Observe' }, { [`${GROUP}/adopt`]: id }),
    ]);
    expect(code).toBe(1);
    const taken = `is already managed by the`;
    expect(stdout.split('\n').filter((line) => /^\S/.test(line))).toEqual([
      `= no change TLSEdge ${namespace}/mine (${id})`,
      `! blocked TLSEdgeModules ${namespace}/of-second (spec.tlsEdgeRef: TLSEdge ${namespace}/second is not ready yet)`,
      `! blocked TLSEdge ${namespace}/theirs (${id} ${taken} TLSEdge ${namespace}/mine)`,
      `= no change TLSEdge ${namespace}/first (${free.id}: adopted)`,
      `! blocked TLSEdge ${namespace}/second (${free.id} is claimed by the TLSEdge ${namespace}/first, which is older but has not taken it over yet: see there, or delete that object)`,
      `= no change TLSEdgeModules ${namespace}/mine (${id})`,
      `! blocked TLSEdgeModules ${namespace}/also-mine (${id} ${taken} TLSEdgeModules ${namespace}/mine)`,
      `= no change TLSEdge ${namespace}/observed (only observed)`,
      `Plan: ${nothing}, 4 without a change, 4 blocked.`,
    ]);
  });

  test('plans many objects, each after those that it refers to, and lists them as the files do', async () => {
    await given();
    const names = Array.from({ length: 30 }, (_, n) => `many-${n}`);
    const referring = (name: string) =>
      object('EndpointConfiguration', name, { type: 'http', ipPolicyRefs: [{ name }, { name: 'many-0' }] });
    const { code, stdout } = await plan(names.flatMap((name) => [referring(name), policy(name)]));
    expect(code).toBe(2);
    expect(stdout.split('\n').filter((line) => line.startsWith('+ '))).toEqual(
      names.flatMap((name) =>
        ['EndpointConfiguration', 'IPPolicy'].map((kind) => `+ create ${kind} ${namespace}/${name}`),
      ),
    );
  });

  test('says of which object it lacks a right to look at, and plans the others', async () => {
    const source = (kind: 'secret' | 'configMap') => ({ body: { [`${kind}KeyRef`]: { name: 'seen', key: 'x' } } });
    await stack.apply(core('Secret', 'seen', { stringData: { x: 'hidden' } }) as Manifest);
    await stack.apply(core('ConfigMap', 'seen', { data: { x: 'open' } }) as Manifest);
    const kubeconfig = await chartAccount(kubectl, namespace, [namespace], (rules) =>
      rules.filter(({ resources }) => !resources.includes('secrets')),
    );
    const bot = await stack.client.botUsers.create({ name: 'reader' });
    const { token } = await stack.client.apiKeys.create({ owner_id: bot.id });
    await given();
    const objects = [
      object('HTTPResponseBackend', 'one', source('secret')),
      object('HTTPResponseBackend', 'two', source('configMap')),
      object('BotUser', 'three', { name: 'reader' }, { [`${GROUP}/adopt`]: bot.id }),
    ];
    const titles = ({ stdout }: { stdout: string }) => stdout.split('\n').filter((line) => /^[!+=~] /.test(line));
    const account = `system:serviceaccount:${namespace}:${ACCOUNT}`;
    const lacking = await plan(objects, { kubeconfig });
    expect(lacking.code).toBe(1);
    expect(titles(lacking).slice(0, 2)).toEqual([
      `! blocked HTTPResponseBackend ${namespace}/one (could not be looked at: secrets "seen" is forbidden: User "${account}" cannot get resource "secrets" in API group "" in the namespace "${namespace}")`,
      `+ create HTTPResponseBackend ${namespace}/two`,
    ]);
    const [one, two, three] = titles(await plan(objects, { apiKey: token ?? '' }));
    expect([one, two]).toEqual(['one', 'two'].map((name) => `+ create HTTPResponseBackend ${namespace}/${name}`));
    expect(three).toContain(`! blocked BotUser ${namespace}/three (could not be looked at with this API key: `);
  });

  test('takes what is given twice once, and names the places where it differs', async () => {
    await given();
    const page = (html: string) => core('Secret', 'twice', { stringData: { html } });
    const backend = object('HTTPResponseBackend', 'twice', { body: { secretKeyRef: { name: 'twice', key: 'html' } } });
    const same = { ...policy('same'), metadata: { ...policy('same').metadata, namespace } };
    const identical = await plan([policy('same'), page('one'), backend, same, page('one')]);
    expect(identical.stdout).toContain('Plan: 2 to create, 0 to change, 0 to replace, 0 without a change, 0 blocked.');

    const file = join(inputs, 'twice.yaml');
    await writeFile(file, text([policy('twice', { description: 'a' }), page('one'), backend]));
    const list = { apiVersion: 'v1', kind: 'List', items: [page('two'), policy('twice', { description: 'b' })] };
    const other = join(inputs, 'again.json');
    await writeFile(other, JSON.stringify(list));
    const { output, exitCode } = await planFiles({ ...CONFIG, files: [file, other] });
    expect(exitCode).toBe(1);
    const places = (document: number, item: number) =>
      `declared differently in ${file}, document ${document}, and in ${other}, document 1, item ${item}`;
    expect(output.split('\n').slice(0, 2)).toEqual([
      `! blocked IPPolicy ${namespace}/twice (${places(1, 2)})`,
      `! blocked HTTPResponseBackend ${namespace}/twice (spec.body: Secret ${namespace}/twice is ${places(2, 1)})`,
    ]);
  });

  test('reads files, folders with several documents, and lists', async () => {
    await given();
    const yaml = ['one', 'two'].map((name) => JSON.stringify(policy(name))).join('\n---\n');
    await writeFile(join(folder, 'b.yaml'), `# comment\n---\n${yaml}\n---\n`);
    const list = { apiVersion: 'v1', kind: 'List', items: [policy('three')] };
    await writeFile(join(folder, 'a.json'), JSON.stringify(list));
    await writeFile(join(folder, 'notes.txt'), 'not: [yaml');
    const { output } = await planFiles({ ...CONFIG, files: [folder] });
    const names = [...output.matchAll(/^\+ create IPPolicy \S+\/(\w+)/gm)].map(([, name]) => name);
    expect(names).toEqual(['three', 'one', 'two']);
    await expect(planFiles({ ...CONFIG, files: [join(folder, 'notes.txt')] })).rejects.toThrow(/notes\.txt: /);
  });

  test('says in one line what it cannot read', async () => {
    await given();
    const none = await runCommand(['plan', '-f', join(folder, 'none')], ENV);
    expect(none).toMatchObject({ code: 1, stdout: '' });
    expect(none.stderr).toMatch(/^tunnel-operator failed: .*none does not exist\n$/);
    const unloadable = await runCommand(['plan', '-f', folder], { ...ENV, KUBECONFIG: '/dev/null' });
    expect(unloadable.stderr).toContain('KUBECONFIG is "/dev/null", which cannot be loaded');
    expect((await runCommand(['plan'], ENV)).stderr).toContain("required option '-f, --filename <path>' not specified");
    await expect(plan([{ kind: 'IPPolicy' }])).rejects.toThrow(/, document 1 is no Kubernetes object: /);
    const adopting = policy('x', {}, { [`${GROUP}/adopt`]: 'ipp_01jd0000000000000000000000' });
    await expect(plan([adopting], { apiKey: 'wrong' })).rejects.toThrow(/^the management API at http/);
  });
});
