/**
 * Writes `rows-<version of the schema>.json`: what this release stores, through its own API, in every table and column.
 * Run it when a migration adds a table or column, and keep the files of earlier versions: later releases are tested on
 * them all (migrations-with-data.test.ts).
 *
 *     node test/api/store/schema/record.ts
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { z } from 'zod';
import { startPostgres } from '../../../../dev/database/postgres.ts';
import { KeyUsageFlags, makeCertificate } from '../../../../dev/fixtures/x509.ts';
import { keyring } from '../../../../src/api/secrets/keyring.ts';
import { startApi } from '../../../../src/api/server.ts';
import { migrations } from '../../../../src/api/store/migrate.ts';
import { idempotencyDigest } from '../../../../src/resources/definition/idempotency.ts';

const secrets = {
  adminKey: 'tnl_ak_admin_of_the_recorded_rows_0123456789',
  encryptionKey: `recorded:${Buffer.alloc(32, 9).toString('base64')}`,
  /** Of a credential that may bind `app.example.com`; set below. */
  token: '',
  /** Under which that credential was made. */
  idempotencyKey: 'recorded-credential',
};

/** Columns that the database computes itself. */
const GENERATED = ['owner_user_id', 'owner_bot_id'];

const answered = z.looseObject({ id: z.string().catch(''), token: z.string().nullish() });

const postgres = await startPostgres();
const api = await startApi({
  databaseUrl: postgres.url,
  port: 0,
  baseUrl: 'https://tunnels.test',
  bootstrapApiKey: secrets.adminKey,
  encryptionKey: keyring.parse(secrets.encryptionKey),
});

async function send(method: string, path: string, body?: object, key?: string) {
  const response = await fetch(api.listening + path, {
    method,
    headers: {
      authorization: `Bearer ${secrets.adminKey}`,
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body: JSON.stringify(body ?? {}),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return answered.parse(text === '' ? {} : JSON.parse(text));
}

async function fill(): Promise<void> {
  const about = { description: 'Ünïcode "quoted" \\ text', metadata: '{"team":"platform"}' };
  const make = (path: string, body: object = {}) => send('POST', path, body);

  const person = await make('/users', { name: 'Ada', admin: false, active: false });
  const bot = await make('/bot_users', { name: 'deploy', active: false });
  await make('/api_keys', { ...about, owner_id: bot.id, expires_at: '2099-01-01T00:00:00.000Z' });
  await make('/api_keys', { owner_id: person.id });
  await make('/credentials', { ...about, owner_id: bot.id });
  await make('/credentials');
  const usable = { acl: ['bind:*.example.com', 'bind:team=web'] };
  secrets.token = (await send('POST', '/credentials', usable, secrets.idempotencyKey)).token ?? '';

  const policy = await make('/ip_policies', about);
  await send('POST', '/ip_policies', {}, 'closed-later');
  await send('PUT', `/idempotency_keys/${idempotencyDigest('closed-later')}/closed`);
  await send('PUT', `/idempotency_keys/${idempotencyDigest('never-used')}/closed`);
  await make('/ip_policy_rules', { ...about, ip_policy_id: policy.id, cidr: '2001:db8::/32', action: 'deny' });
  await make('/ip_policy_rules', { ip_policy_id: policy.id, cidr: '0.0.0.0/0', action: 'allow' });
  // Referred to below, and gone: the reference stays.
  const gone = await make('/ip_policies');

  const authority = await makeCertificate({ usages: KeyUsageFlags.keyCertSign, purposes: ['1.3.6.1.5.5.7.3.2'] });
  const trusted = await make('/certificate_authorities', { ...about, ca_pem: authority.pem });
  await make('/certificate_authorities', { ca_pem: (await makeCertificate({ subject: 'O=Nameless' })).pem });
  const names = [{ type: 'dns', value: 'app.example.com' } as const];
  const leaf = await makeCertificate({
    subject: 'CN=app.example.com',
    ca: null,
    usages: KeyUsageFlags.digitalSignature,
    names,
  });
  const bare = await makeCertificate({ subject: 'O=Nameless', ca: null, names });
  const certificate = await make('/tls_certificates', {
    ...about,
    certificate_pem: leaf.pem,
    private_key_pem: leaf.keyPem,
  });
  await make('/tls_certificates', { certificate_pem: bare.pem, private_key_pem: bare.keyPem });

  const host = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f';
  const signer = await make('/ssh_certificate_authorities', { ...about, private_key_type: 'ecdsa' });
  await make('/ssh_certificate_authorities');
  const signed = { ssh_certificate_authority_id: signer.id, public_key: host };
  await make('/ssh_host_certificates', { ...signed, ...about, principals: ['web-1.example.com'] });
  await make('/ssh_host_certificates', signed);

  const headers = { 'content-type': 'text/plain' };
  const fixed = await make('/backends/http_response', { ...about, body: 'down', headers, status_code: 503 });
  await make('/backends/http_response');
  const tunnels = await make('/backends/tunnel_group', { ...about, labels: { app: 'web' } });
  await make('/backends/tunnel_group', { labels: { a: 'b' } });

  const target = { webhook: { url: 'https://hooks.example.com/tunnels' } };
  const destination = await make('/event_destinations', { ...about, target });
  await make('/event_destinations', { target });
  const sources = [{ type: 'ip_policy_created.v0' }, { type: 'user_updated.v0' }];
  await make('/event_subscriptions', { ...about, sources, destination_ids: [destination.id] });
  await make('/event_subscriptions');

  const configured = { ...about, type: 'https', ip_policy_ids: [policy.id, gone.id] };
  const https = await make('/endpoint_configurations', configured);
  const http = await make('/endpoint_configurations', { type: 'http' });
  const domain = await make('/reserved_domains', {
    ...about,
    domain: '*.example.com',
    region: 'eu',
    certificate_id: certificate.id,
  });
  await send('PATCH', `/reserved_domains/${domain.id}`, {
    http_endpoint_configuration_id: http.id,
    https_endpoint_configuration_id: https.id,
  });
  const managed = { authority: 'letsencrypt', private_key_type: 'ecdsa' };
  await make('/reserved_domains', { domain: 'app.example.org', certificate_management_policy: managed });
  await make('/reserved_domains', { domain: 'plain.tunnels.internal' });

  const edge = await make('/edges/https', { ...about, hostports: ['app.example.com:443', 'app.example.org:8443'] });
  await make('/edges/https', { hostports: ['plain.tunnels.internal:443'] });
  const routes = `/edges/https/${edge.id}/routes`;
  const route = await make(routes, { ...about, match: '/api', match_type: 'path_prefix', backend_id: tunnels.id });
  await make(routes, { match: '/', match_type: 'exact_path' });
  const oidc = {
    issuer: 'https://accounts.example.com',
    client_id: 'id',
    client_secret: 'a secret',
    scopes: ['email'],
  };
  await send('PUT', `${routes}/${route.id}/oidc`, oidc);
  await send('PUT', `${routes}/${route.id}/oauth`, { provider: { github: { organizations: ['acme'] } } });
  const tls = await make('/edges/tls', { ...about, hostports: ['tls.example.com:443'] });
  await make('/edges/tls', { hostports: ['tls.example.com:8443'] });
  await send('PUT', `/edges/tls/${tls.id}/ip_restriction`, { ip_policy_ids: [policy.id, gone.id] });
  await send('PUT', `/edges/tls/${tls.id}/mutual_tls`, { certificate_authority_ids: [trusted.id] });
  await send('PUT', `/edges/tls/${tls.id}/backend`, { backend_id: fixed.id });
  await send('DELETE', `/ip_policies/${gone.id}`);
}

/** Numbers as text: a bigint of Postgres has more digits than one of JSON keeps. */
const ROWS = (table: string) => `
  select (select json_object_agg(key, case json_typeof(value) when 'number' then to_json(value #>> '{}') else value end)
            from json_each(row_to_json(t)) where key <> all ($1::text[])) as row
    from ${table} t order by t::text`;

async function allRows(): Promise<Record<string, unknown[]>> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  try {
    // No operation of this release sets it; a later one may have.
    await client.query('update tls_certificates set issued_at = not_before where subject_common_name is null');
    const tables = await client.query("select tablename as name from pg_tables where schemaname = 'public' order by 1");
    const rows: Record<string, unknown[]> = {};
    for (const { name } of z.array(z.object({ name: z.string() })).parse(tables.rows)) {
      if (name === 'schema_migrations') continue;
      const found = await client.query(ROWS(name), [GENERATED]);
      rows[name] = found.rows.map(({ row }: { row: unknown }) => row);
    }
    return rows;
  } finally {
    await client.end();
  }
}

try {
  await fill();
  const version = (await migrations()).length;
  const file = join(import.meta.dirname, `rows-${String(version).padStart(4, '0')}.json`);
  await writeFile(file, `${JSON.stringify({ secrets, rows: await allRows() }, null, 2)}\n`);
} finally {
  await api.stop();
  await postgres.stop();
}
