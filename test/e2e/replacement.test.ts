/** What the API cannot update is replaced: referrers move on, and the old resource goes when nothing needs it any more. */
import { describe, expect, test } from 'vitest';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { GROUP, VERSION } from '../../src/operator/contract/names.ts';
import { eventually, type Manifest, ours, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'replace' });
const { client } = stack;

const CERTIFICATES = ours('tlscertificates');
const DOMAINS = ours('reserveddomains');
const AUTHORITIES = ours('certificateauthorities');
const EDGES = ours('httpsedges');
const ROUTES = ours('httpsedgeroutes');

const object = (kind: string, name: string, spec: object, annotations = {}): Manifest => ({
  apiVersion: `${GROUP}/${VERSION}`,
  kind,
  metadata: { name, annotations },
  spec,
});

/** A Secret as cert-manager writes it. */
async function tlsSecret(name: string, host: string) {
  const { pem, keyPem } = await makeCertificate({
    subject: `CN=${host}`,
    ca: false,
    names: [{ type: 'dns', value: host }],
  });
  const stringData = { 'tls.crt': pem, 'tls.key': keyPem };
  const manifest = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: { name }, stringData };
  return { pem, manifest };
}

const certificatesInApi = async () => (await Array.fromAsync(client.tlsCertificates.list())).map(({ id }) => id);

describe('a TLSCertificate', () => {
  const host = 'shop.example.com';

  test('follows its Secret when that is renewed; its domain moves on, and the old certificate goes', async () => {
    const first = await tlsSecret('shop-tls', host);
    await stack.apply(
      object('ReservedDomain', 'shop', { domain: host, certificateRef: { name: 'shop' } }),
      object('TLSCertificate', 'shop', { secretRef: { name: 'shop-tls' } }),
      first.manifest,
    );
    const domain = await stack.ready(DOMAINS, 'shop');
    const before = await stack.ready(CERTIFICATES, 'shop');
    expect(await client.tlsCertificates.get(String(before.status.id))).toMatchObject({ certificate_pem: first.pem });
    expect(JSON.stringify(before.object)).not.toContain('PRIVATE KEY');

    const second = await tlsSecret('shop-tls', host);
    await stack.apply(second.manifest);
    const id = await eventually(async () => {
      const { status } = await stack.ready(CERTIFICATES, 'shop');
      expect(status.id).not.toBe(before.status.id);
      return String(status.id);
    });
    expect(await client.tlsCertificates.get(id)).toMatchObject({ certificate_pem: second.pem });
    await eventually(async () => {
      const { certificate } = await client.reservedDomains.get(String(domain.status.id));
      expect(certificate?.id).toBe(id);
      expect(await certificatesInApi()).toEqual([id]);
    });
    await eventually(async () => {
      expect((await stack.ready(CERTIFICATES, 'shop')).status.retiring).toBeUndefined();
    });
    const reasons = (await stack.events('shop')).map(({ reason }) => reason);
    expect(reasons).toEqual(expect.arrayContaining(['Replaced', 'Updated']));
    // Nobody has changed anything behind anybody's back.
    expect(reasons).not.toContain('DriftCorrected');
  });

  test('says in an Event what outside the cluster holds on to the old one', async () => {
    const first = await tlsSecret('held-tls', 'held.example.com');
    await stack.apply(object('TLSCertificate', 'held', { secretRef: { name: 'held-tls' } }), first.manifest);
    const before = String((await stack.ready(CERTIFICATES, 'held')).status.id);
    const outside = await client.reservedDomains.create({ domain: 'held.example.com', certificate_id: before });
    await stack.apply((await tlsSecret('held-tls', 'held.example.com')).manifest);
    await eventually(async () => {
      const { reason, message } = (await stack.events('held')).find((each) => each.reason === 'DeletionBlocked') ?? {};
      expect(reason).toBe('DeletionBlocked');
      expect(message).toContain(`${before} is superseded, and cannot be deleted yet: `);
      expect(message).toContain(outside.id);
    });
    expect((await stack.ready(CERTIFICATES, 'held')).status.id).not.toBe(before);
    await client.reservedDomains.delete(outside.id);
    await stack.remove(CERTIFICATES, 'held');
    expect(await certificatesInApi()).not.toContain(before);
  });

  test('is not replaced by a Secret whose key and certificate do not belong together; the old one stays in use', async () => {
    const [before] = await certificatesInApi();
    const [one, other] = [await tlsSecret('shop-tls', host), await tlsSecret('shop-tls', host)];
    const wrong = {
      ...one.manifest,
      stringData: { ...one.manifest.stringData, 'tls.key': other.manifest.stringData['tls.key'] },
    };
    // The API server warns as well.
    expect(await stack.tryApply(wrong)).toMatchObject({ code: 0 });
    const { ready } = await stack.reason(CERTIFICATES, 'shop', 'Ready', 'Rejected');
    expect(ready?.message).toMatch(/key/i);
    expect(await certificatesInApi()).toEqual([before]);
    await stack.apply(other.manifest);
    await eventually(async () => expect(await certificatesInApi()).not.toContain(before));
    await stack.ready(CERTIFICATES, 'shop');
  });

  test('that is deleted with its domain leaves nothing behind', async () => {
    await stack.run('delete', `${CERTIFICATES.plural},${DOMAINS.plural}`, '--all', '--timeout=30s');
    expect(await certificatesInApi()).toEqual([]);
  });
});

test('a CertificateAuthority gets a new certificate, and so a new id', async () => {
  const [one, other] = await Promise.all([makeCertificate(), makeCertificate()]);
  await stack.apply(object('CertificateAuthority', 'devices', { caPem: { value: one.pem } }));
  const before = await stack.ready(AUTHORITIES, 'devices');
  await stack.apply(object('CertificateAuthority', 'devices', { caPem: { value: other.pem }, description: 'new' }));
  await eventually(async () => {
    const { status } = await stack.ready(AUTHORITIES, 'devices');
    expect(status.id).not.toBe(before.status.id);
  });
  const all = await eventually(async () => {
    const found = await Array.fromAsync(client.certificateAuthorities.list());
    expect(found).toHaveLength(1);
    return found;
  });
  expect(all).toMatchObject([{ ca_pem: other.pem, description: 'new' }]);
  await stack.remove(AUTHORITIES, 'devices');
});

test('what was replaced is deleted once nothing uses it any more, and holds up nothing', async () => {
  const [one, other] = await Promise.all([makeCertificate(), makeCertificate()]);
  await stack.apply(object('CertificateAuthority', 'used', { caPem: { value: one.pem } }));
  const old = String((await stack.ready(AUTHORITIES, 'used')).status.id);
  // Somebody outside the cluster.
  const edge = await client.tlsEdges.create({});
  await client.tlsEdgeModules(edge.id).mutualTls.put({ certificate_authority_ids: [old] });
  await stack.apply(object('CertificateAuthority', 'used', { caPem: { value: other.pem } }));
  await eventually(async () => expect((await stack.ready(AUTHORITIES, 'used')).status.id).not.toBe(old));
  await stack.apply(object('CertificateAuthority', 'used', { caPem: { value: other.pem }, description: 'goes on' }));
  expect((await stack.ready(AUTHORITIES, 'used')).status.retiring).toMatchObject([{ id: old }]);
  await client.tlsEdges.delete(edge.id);
  expect((await stack.reconciled(AUTHORITIES, 'used')).status).not.toHaveProperty('retiring');
  await expect(client.certificateAuthorities.get(old)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await stack.remove(AUTHORITIES, 'used');
});

test('a CertificateAuthority that adopts another certificate is not replaced, but says that it differs', async () => {
  const [one, other] = await Promise.all([makeCertificate(), makeCertificate()]);
  const { id } = await client.certificateAuthorities.create({ ca_pem: one.pem });
  const adopt = { [`${GROUP}/adopt`]: id };
  await stack.apply(object('CertificateAuthority', 'adopted', { caPem: { value: other.pem } }, adopt));
  const { ready } = await stack.reason(AUTHORITIES, 'adopted', 'Ready', 'Rejected');
  expect(ready?.message).toContain(`${id} differs in spec.caPem`);
  await stack.remove(AUTHORITIES, 'adopted');
  expect(await client.certificateAuthorities.get(id)).toMatchObject({ ca_pem: one.pem });
  await client.certificateAuthorities.delete(id);
});

test('a route that moves keeps its old place until its modules have moved, too', async () => {
  const MODULES = ours('httpsedgeroutemodules');
  const route = (edge: string) =>
    object('HTTPSEdgeRoute', 'safe', { edgeRef: { name: edge }, match: '/', matchType: 'path_prefix' });
  const oidc = { issuer: 'https://id.example.com', clientId: { value: 'a' }, clientSecret: { value: 'b' } };
  await stack.apply(
    object('HTTPSEdge', 'from', {}),
    object('HTTPSEdge', 'to', {}),
    route('from'),
    object('HTTPSEdgeRouteModules', 'safe', { routeRef: { name: 'safe' }, oidc }),
  );
  const { status: before } = await stack.ready(MODULES, 'safe');
  const from = await stack.ready(EDGES, 'from');
  const oldRoutes = async () => Array.fromAsync(client.httpsEdgeRoutes(String(from.status.id)).list());
  await stack.annotate(MODULES, 'safe', { [`${GROUP}/paused`]: 'true' });
  await stack.reason(MODULES, 'safe', 'Synced', 'Paused');
  await stack.apply(route('to'));
  await eventually(async () => expect((await stack.ready(ROUTES, 'safe')).status.id).not.toBe(before.id));
  await stack.reconciled(ROUTES, 'safe');
  expect(await oldRoutes()).toMatchObject([{ modules: ['oidc'] }]);

  await stack.annotate(MODULES, 'safe', { [`${GROUP}/paused`]: null });
  await eventually(async () => expect(await oldRoutes()).toEqual([]));
  expect((await stack.ready(MODULES, 'safe')).status.id).toBe((await stack.ready(ROUTES, 'safe')).status.id);
  await stack.run('delete', `${MODULES.plural},${ROUTES.plural},${EDGES.plural}`, '--all', '--timeout=30s');
  expect(await stack.remoteIds()).toEqual([]);
});

test('a route moves to another edge', async () => {
  const route = (edge: string) =>
    object('HTTPSEdgeRoute', 'moving', { edgeRef: { name: edge }, match: '/', matchType: 'path_prefix' });
  await stack.apply(object('HTTPSEdge', 'one', {}), object('HTTPSEdge', 'two', {}), route('one'));
  const [one, two] = [await stack.ready(EDGES, 'one'), await stack.ready(EDGES, 'two')];
  await stack.ready(ROUTES, 'moving');
  await stack.apply(route('two'));
  await eventually(async () => {
    const { status } = await stack.ready(ROUTES, 'moving');
    expect(status.id).toMatch(new RegExp(`^${two.status.id}/`));
  });
  await eventually(async () => {
    expect(await Array.fromAsync(client.httpsEdgeRoutes(String(one.status.id)).list())).toEqual([]);
  });
  await stack.run('delete', `${ROUTES.plural},${EDGES.plural}`, '--all', '--timeout=30s');
  expect(await stack.remoteIds()).toEqual([]);
});

describe('a resource that was to be replaced stays', () => {
  const route = (name: string, edge: string, match = `/${name}`) =>
    object('HTTPSEdgeRoute', name, { edgeRef: { name: edge }, match, matchType: 'path_prefix' });
  const edges = async (...names: string[]) => {
    await stack.apply(...names.map((name) => object('HTTPSEdge', name, {})));
    return Promise.all(names.map(async (name) => String((await stack.ready(EDGES, name)).status.id)));
  };
  const routesOf = async (edge: string | undefined) => Array.fromAsync(client.httpsEdgeRoutes(String(edge)).list());
  const clear = async () => {
    const kinds = [ours('httpsedgeroutemodules'), ROUTES, EDGES].map(({ plural }) => plural).join();
    await stack.run('delete', kinds, '--all', '--timeout=30s');
    expect(await stack.remoteIds()).toEqual([]);
  };

  test('when its successor is refused and the spec is put back', async () => {
    const [here, there] = await edges('here', 'there');
    const theirs = await client.httpsEdgeRoutes(String(there)).create({ match: '/back', match_type: 'path_prefix' });
    await stack.apply(route('back', 'here'));
    const { status: before } = await stack.ready(ROUTES, 'back');
    await stack.apply(route('back', 'there'));
    const { ready } = await stack.reason(ROUTES, 'back', 'Ready', 'Rejected');
    expect(ready?.message).toContain(theirs.id);
    await stack.apply(route('back', 'here'));
    const { status } = await stack.ready(ROUTES, 'back');
    expect(status).toMatchObject({ id: before.id });
    expect(status.retiring).toBeUndefined();
    expect(await routesOf(here)).toHaveLength(1);
    expect(await routesOf(there)).toMatchObject([{ id: theirs.id }]);
    expect((await stack.events('back')).map(({ reason }) => reason)).not.toContain('Replaced');

    // Nothing is left in the way of a later move.
    await client.httpsEdgeRoutes(String(there)).delete(theirs.id);
    await stack.apply(route('back', 'there'));
    await eventually(async () => expect(await routesOf(here)).toEqual([]));
    expect((await stack.ready(ROUTES, 'back')).status.id).toBe(`${there}/${(await routesOf(there))[0]?.id}`);
    const replaced = (await stack.events('back')).filter(({ reason }) => reason === 'Replaced');
    expect(replaced.map(({ message }) => message)).toEqual([expect.stringContaining(String(before.id))]);
    await clear();
  });

  test('when the object returns before it has gone', async () => {
    const [here, there] = await edges('here', 'there');
    const MODULES = ours('httpsedgeroutemodules');
    const oidc = { issuer: 'https://id.example.com', clientId: { value: 'a' }, clientSecret: { value: 'b' } };
    await stack.apply(
      route('again', 'here'),
      object('HTTPSEdgeRouteModules', 'again', { routeRef: { name: 'again' }, oidc }),
    );
    await stack.ready(MODULES, 'again');
    const { status: before } = await stack.ready(ROUTES, 'again');
    await stack.annotate(MODULES, 'again', { [`${GROUP}/paused`]: 'true' });
    await stack.reason(MODULES, 'again', 'Synced', 'Paused');
    await stack.apply(route('again', 'there'));
    await eventually(async () => expect((await stack.ready(ROUTES, 'again')).status.id).not.toBe(before.id));
    await stack.apply(route('again', 'here'));
    await eventually(async () => expect((await stack.ready(ROUTES, 'again')).status.id).toBe(before.id));
    await eventually(async () => expect(await routesOf(there)).toEqual([]));
    expect(await routesOf(here)).toMatchObject([{ modules: ['oidc'] }]);
    await stack.annotate(MODULES, 'again', { [`${GROUP}/paused`]: null });
    await stack.ready(MODULES, 'again');
    await clear();
  });

  test('when the text that was to replace it was never accepted', async () => {
    const { pem } = await makeCertificate();
    const authority = (value: string) => object('CertificateAuthority', 'garbled', { caPem: { value } });
    await stack.apply(authority(pem));
    const { status: before } = await stack.ready(AUTHORITIES, 'garbled');
    await stack.apply(authority('-----BEGIN CERTIFICATE-----\ngarbage\n-----END CERTIFICATE-----\n'));
    await stack.reason(AUTHORITIES, 'garbled', 'Ready', 'Rejected');
    await stack.apply(authority(pem));
    expect((await stack.ready(AUTHORITIES, 'garbled')).status.id).toBe(before.id);
    expect(await stack.remoteIds()).toEqual([before.id]);
    await stack.remove(AUTHORITIES, 'garbled');
  });
});

describe('objects that wait for each other', () => {
  const route = (name: string, edge: string, match: string) =>
    object('HTTPSEdgeRoute', name, { edgeRef: { name: edge }, match, matchType: 'path_prefix' });
  const edges = async (...names: string[]) => {
    await stack.apply(...names.map((name) => object('HTTPSEdge', name, {})));
    return Promise.all(names.map(async (name) => String((await stack.ready(EDGES, name)).status.id)));
  };
  const matches = async (edge: string | undefined) =>
    (await Array.fromAsync(client.httpsEdgeRoutes(String(edge)).list())).map(({ id, match }) => [id, match]);
  const ownIds = async (...names: string[]) =>
    Promise.all(
      names.map(async (name) =>
        String((await stack.ready(ROUTES, name)).status.id)
          .split('/')
          .at(-1),
      ),
    );
  const clear = async () => {
    await stack.run('delete', `${ROUTES.plural},${EDGES.plural},tlsedges,${DOMAINS.plural}`, '--all', '--timeout=30s');
    expect(await stack.remoteIds()).toEqual([]);
  };

  test.for([
    ['two routes that swap their paths', ['/b', '/a', '/c']],
    ['three routes, of which each takes the path of the next', ['/b', '/c', '/a']],
  ] as const)('%s', async ([, [one, two, three]]) => {
    const [edge] = await edges('swap');
    await stack.apply(route('a', 'swap', '/a'), route('b', 'swap', '/b'), route('c', 'swap', '/c'));
    const ids = await ownIds('a', 'b', 'c');
    await stack.apply(route('a', 'swap', one), route('b', 'swap', two), route('c', 'swap', three));
    expect(await ownIds('a', 'b', 'c')).toEqual(ids);
    expect((await matches(edge)).sort()).toEqual(ids.map((id, index) => [id, [one, two, three][index]]).sort());
    const reasons = await Promise.all(['a', 'b', 'c'].map(async (name) => stack.events(name)));
    expect(reasons.flat().map(({ reason }) => reason)).not.toContain('DriftCorrected');
    await clear();
  });

  test('two routes that swap their edges', async () => {
    const [left, right] = await edges('left', 'right');
    await stack.apply(route('a', 'left', '/'), route('b', 'right', '/'));
    const before = await ownIds('a', 'b');
    await stack.apply(route('a', 'right', '/'), route('b', 'left', '/'));
    await eventually(async () => {
      const [a, b] = await ownIds('a', 'b');
      expect(await matches(left)).toEqual([[b, '/']]);
      expect(await matches(right)).toEqual([[a, '/']]);
    });
    expect(await ownIds('a', 'b')).not.toEqual(expect.arrayContaining(before));
    await clear();
  });

  test('two edges, of different kinds, that swap some of their hostports', async () => {
    const domain = (name: string) => object('ReservedDomain', name, { domain: `${name}.example.com` });
    const at = (...names: string[]) => ({ hostports: names.map((name) => `${name}.example.com:443`) });
    await stack.apply(...['one', 'two', 'three', 'four'].map(domain));
    await stack.apply(object('HTTPSEdge', 'ports', at('one', 'two')), object('TLSEdge', 'ports', at('three', 'four')));
    const of = [EDGES, ours('tlsedges')];
    const ids = await Promise.all(of.map(async (each) => (await stack.ready(each, 'ports')).status.id));
    await stack.apply(object('HTTPSEdge', 'ports', at('one', 'three')), object('TLSEdge', 'ports', at('two', 'four')));
    for (const each of of) await stack.ready(each, 'ports');
    const found = [await client.httpsEdges.get(String(ids[0])), await client.tlsEdges.get(String(ids[1]))];
    expect(found).toMatchObject([at('one', 'three'), at('two', 'four')]);
    await clear();
  });

  test('nothing is given up for what a stranger has', async () => {
    const [edge] = await edges('strange');
    const theirs = await client.httpsEdgeRoutes(String(edge)).create({ match: '/theirs', match_type: 'path_prefix' });
    await stack.apply(route('a', 'strange', '/a'), route('b', 'strange', '/b'));
    const ids = await ownIds('a', 'b');
    await stack.apply(route('a', 'strange', '/b'), route('b', 'strange', '/theirs'));
    for (const name of ['a', 'b']) await stack.reason(ROUTES, name, 'Ready', 'Rejected');
    for (const name of ['a', 'b']) await stack.reconciled(ROUTES, name);
    expect(await matches(edge)).toEqual(
      expect.arrayContaining([
        [ids[0], '/a'],
        [ids[1], '/b'],
      ]),
    );
    await client.httpsEdgeRoutes(String(edge)).delete(theirs.id);
    expect(await ownIds('a', 'b')).toEqual(ids);
    await clear();
  });
});
