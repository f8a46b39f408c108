/** An API with something of everything that an export has to cope with. Only for test files. */
import { postTo } from '../../dev/fixtures/post.ts';
import { sampleValues } from '../../dev/fixtures/sample-values.ts';
import { createSample } from '../../dev/fixtures/samples.ts';
import { hostKeyLine } from '../../dev/fixtures/ssh-keys.ts';
import { kinds } from '../../src/operator/kinds/kinds.ts';
import { FAMILIES } from '../../src/resources/families.ts';
import { API_KEY, type Stack } from './stack.ts';

/** As kubectl would refuse it, or take it for something else, unless it is quoted and escaped. */
export const HARD_TO_WRITE = '\ttab\u2028\u0085\ufeff\ufffe \r\n true';
export const CLIENT_SECRET = 'never-to-be-seen';
export const ISSUER = 'https://accounts.example.com';

export async function fillApi({ api, client, sql }: Stack) {
  const values = await sampleValues();
  const post = postTo(api.url, API_KEY);

  // Every sample of every family that has a kind, and what those refer to.
  for (const family of FAMILIES.filter(({ name }) => kinds.some((kind) => kind.family.name === name))) {
    await createSample(post, family, 'least', 2 * FAMILIES.indexOf(family), values);
    await createSample(post, family, 'full', 2 * FAMILIES.indexOf(family) + 1, values);
  }
  const policy = await client.ipPolicies.create({ description: 'Büro, Berlin', metadata: HARD_TO_WRITE });
  await client.replaceRules(policy.id, { rules: [{ cidr: '192.0.2.0/24', action: 'allow', description: 'all' }] });

  // One that is due to be issued anew: with the usual end, and issued long ago.
  const hosts = await client.sshCertificateAuthorities.create({});
  const expiring = await client.sshHostCertificates.create({
    ssh_certificate_authority_id: hosts.id,
    public_key: hostKeyLine(),
    description: 'expiring',
  });
  await sql(
    `update ssh_host_certificates set created_at = created_at - make_interval(days => 340),
     valid_after = valid_after - make_interval(days => 340), valid_until = valid_until - make_interval(days => 340)
     where id = $1`,
    [expiring.id],
  );

  // One whose automatic certificate has been issued.
  const automatic = await client.reservedDomains.create({
    domain: 'automatic.example.com',
    certificate_management_policy: { authority: 'letsencrypt' },
  });
  await sql(
    'update reserved_domains set certificate_id = (select id from tls_certificates order by id limit 1) where id = $1',
    [automatic.id],
  );

  // What has modules: a TLS edge with all of them, and two routes that sign users in.
  const backend = await client.tunnelGroupBackends.create({ labels: { app: 'modules' } });
  const authority = await client.certificateAuthorities.create({ ca_pem: values.pem.ca });
  const tlsEdge = await client.tlsEdges.create({ description: 'Internal' });
  const edgeModules = client.tlsEdgeModules(tlsEdge.id);
  await edgeModules.ipRestriction.put({ ip_policy_ids: [policy.id], enabled: false });
  await edgeModules.mutualTls.put({ certificate_authority_ids: [authority.id] });
  await edgeModules.backend.put({ backend_id: backend.id });
  const httpsEdge = await client.httpsEdges.create({ description: 'Portal' });
  const routeAt = async (match: string, description: string) => {
    const { id } = await client.httpsEdgeRoutes(httpsEdge.id).create({ match, match_type: 'path_prefix', description });
    return { id: `${httpsEdge.id}/${id}`, modules: client.httpsEdgeRouteModules(httpsEdge.id, id) };
  };
  const withOidc = await routeAt('/', 'portal');
  await withOidc.modules.oidc.put({
    issuer: ISSUER,
    client_id: 'portal',
    client_secret: CLIENT_SECRET,
    scopes: ['email'],
  });
  const withOauth = await routeAt('/admin', 'admin');
  const github = { client_id: 'admin', client_secret: `${CLIENT_SECRET}-2`, organizations: ['acme'] };
  await withOauth.modules.oauth.put({ provider: { github }, maximum_duration: 3600 });

  return { values, policy, tlsEdge, withOidc, withOauth };
}
