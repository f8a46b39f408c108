import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { newId } from '../../../src/resources/definition/id.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import { heldTransaction, type Method, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi();
const { admin, anonymous } = api;

const line = z.looseObject({
  level: z.number(),
  msg: z.string(),
  request_id: z.string().optional(),
  method: z.string().optional(),
  route: z.string().optional(),
  status: z.number().optional(),
  ms: z.number().optional(),
});
const logged = (requestId: string) =>
  api.logs.map((text) => line.parse(JSON.parse(text))).filter(({ request_id }) => request_id === requestId);

describe('a request', () => {
  test('is logged in one line: id, method, path as documented, status and milliseconds', async () => {
    const { id } = JSON.parse((await admin.post('/ip_policies', {})).text);
    await admin.get(`/ip_policies/${id}?x=1`, { 'x-request-id': 'logged-1' });
    expect(logged('logged-1')).toMatchObject([
      { level: 30, msg: 'request', method: 'GET', route: '/ip_policies/{id}', status: 400, ms: expect.any(Number) },
    ]);
  });

  test('is logged with the time that it took', async () => {
    const held = await heldTransaction(api.databaseUrl);
    await held.query('lock table ip_policies');
    const startedAt = performance.now();
    const answered = admin.get('/ip_policies', { 'x-request-id': 'slow-1' });
    await untilWaiting(api, 1);
    const waitedFrom = performance.now();
    await delay(200);
    const waited = performance.now() - waitedFrom;
    await held.rollback();
    await answered;
    const elapsed = performance.now() - startedAt;
    const [{ ms = 0 } = {}] = logged('slow-1');
    expect(ms).toBeGreaterThan(waited - 1);
    expect(ms).toBeLessThan(elapsed + 1);
  });

  test('that is invalid is logged with its reasons, and with nothing that it sent', async () => {
    const sent = 'hunter2-hunter2';
    const pem = `-----BEGIN PRIVATE KEY-----\n${sent}\n-----END PRIVATE KEY-----`;
    const bodies: [string, unknown][] = [
      ['/credentials', { acl: [`bind:${sent}.*`], [`x${'y'.repeat(500)}`]: sent }],
      ['/credentials/authenticate', { token: [sent], bind: `${sent}:x` }],
      ['/tls_certificates', { certificate_pem: sent, private_key_pem: pem }],
      ['/event_destinations', { target: { webhook: { url: `http://${sent}` } }, signing_secret: sent }],
      ['/ip_policies', `{"description": "${sent}" "`],
      ['/ip_policy_rules', { cidr: sent, action: sent, ip_policy_id: sent }],
      ['/edges/https', { hostports: [`${sent}.example.com:443`] }],
      ['/ip_policies', { [sent]: 1, description: 5 }],
      ['/backends/http_response', { headers: { [sent]: 1, [`${sent}/2`]: 'ü' } }],
      ['/backends/tunnel_group', { labels: { [`${sent} `]: sent } }],
      ['/backends/tunnel_group', { labels: { '4711': 5 } }],
      [`/ip_policies?${sent}=1`, {}],
    ];
    for (const [index, [path, body]] of bodies.entries()) {
      const id = `invalid-${index}`;
      const { error } = await admin.post(path, body, { 'x-request-id': id });
      expect(error.status_code).toBe(400);
      const [{ reasons }, ...others] = z
        .tuple([z.object({ status: z.literal(400), reasons: z.record(z.string(), z.string()) })])
        .parse(logged(id));
      expect(others).toEqual([]);
      for (const reason of Object.values(reasons)) expect(reason).not.toBe('');
    }
    expect(logged('invalid-0')).toMatchObject([{ reasons: { '/acl/…': 'is not valid' } }]);
    expect(logged('invalid-7')).toMatchObject([
      { reasons: { '/…': 'unknown field', '/description': 'must be a string, not a number' } },
    ]);
    expect(logged('invalid-10')).toMatchObject([{ reasons: { '/labels/…': expect.any(String) } }]);
    expect(logged('invalid-11')).toMatchObject([{ reasons: { '?…': 'unknown query parameter' } }]);
    expect(api.logs.join('\n')).not.toContain(sent);
  });

  test.each<[string, string, object | string, Record<string, string>]>([
    ['JSON', '/ip_policies', '{"a": 1', { body: 'is not valid JSON' }],
    ['a key given twice', '/ip_policies', '{"a": 1, "a": 1}', { body: 'has a key twice in one object' }],
    ['a PEM', '/certificate_authorities', { ca_pem: 'x' }, { '/ca_pem': expect.stringMatching(/^is not PEM: /) }],
    [
      'its label',
      '/certificate_authorities',
      { ca_pem: '-----BEGIN HUNTER-----\nAA==\n-----END HUNTER-----\n' },
      { '/ca_pem': 'is not a CERTIFICATE' },
    ],
    [
      'a cut PEM',
      '/tls_certificates',
      { certificate_pem: '-----BEGIN HUNTER-----\n', private_key_pem: '-----BEGIN HUNTER-----\n' },
      { '/certificate_pem': 'is truncated', '/private_key_pem': 'is truncated' },
    ],
    [
      'the type of an event',
      '/event_subscriptions',
      { sources: [{ type: 'hunter' }] },
      { '/sources/0/type': 'is not an event type' },
    ],
    ['a domain of the service', '/reserved_domains', { domain: '*.example' }, { '/domain': expect.any(String) }],
  ])('that is invalid because of %s is logged with what does not repeat it', async (what, path, body, reasons) => {
    const id = `why-${what.replaceAll(' ', '-')}`;
    expect((await admin.post(path, body, { 'x-request-id': id })).status).toBe(400);
    expect(logged(id)).toMatchObject([{ reasons }]);
    expect(JSON.stringify(logged(id)).toLowerCase()).not.toContain('hunter');
  });

  test('that is invalid because of a header is logged with the reason', async () => {
    const headers = { 'idempotency-key': '', 'x-request-id': 'why-header' };
    const { error } = await admin.post('/ip_policies', {}, headers);
    expect(logged('why-header')).toMatchObject([{ reasons: { 'Idempotency-Key': error.details['Idempotency-Key'] } }]);
  });

  test('that is wrong in many places is told 50 of them, and logged with 10', async () => {
    const { id } = (await admin.post('/ip_policies', {})).as(ipPolicy.view);
    const rules = Array.from({ length: 60 }, () => ({ cidr: 'nonsense', action: 'allow' }));
    const { error } = await admin.put(`/ip_policies/${id}/rules`, { rules }, { 'x-request-id': 'many-1' });
    const { request_id: _, ...details } = error.details;
    const places = rules.map((_, n) => `/rules/${n}/cidr`);
    expect(Object.keys(details)).toEqual(places.slice(0, 50));
    const [line] = z.tuple([z.object({ reasons: z.record(z.string(), z.string()) })]).parse(logged('many-1'));
    expect(Object.keys(line.reasons)).toEqual(places.slice(0, 10));
  });

  test('that is refused by a rule of its family is logged with the rule', async () => {
    const { id } = (await admin.post('/reserved_domains', { domain: 'logged.example.com' })).as(reservedDomain.view);
    const [policy, owner, authority] = [newId('ipp'), newId('bot'), newId('sshca')];
    const { id: configuration } = JSON.parse((await admin.post('/endpoint_configurations', { type: 'https' })).text);
    const { public_key } = JSON.parse((await admin.post('/ssh_certificate_authorities', {})).text);
    const refused: [Method, string, object, Record<string, string>][] = [
      [
        'PATCH',
        `/reserved_domains/${id}`,
        { region: 'us', domain: 'x.example.com', uri: 'x' },
        { '/region': 'cannot be changed', '/domain': 'cannot be changed', '/uri': 'is set by the service' },
      ],
      [
        'POST',
        '/ip_policy_rules',
        { cidr: '10.0.0.0/8', action: 'deny', ip_policy_id: policy },
        { '/ip_policy_id': 'does not exist' },
      ],
      ['POST', '/api_keys', { owner_id: owner }, { '/owner_id': 'does not exist' }],
      [
        'POST',
        '/edges/https',
        { hostports: ['other.test:443'] },
        { '/hostports/…': 'is not covered by a reserved domain' },
      ],
      ['PATCH', `/reserved_domains/${id}`, { certificate_id: newId('cert') }, { '/certificate_id': 'does not exist' }],
      [
        'PATCH',
        `/reserved_domains/${id}`,
        { http_endpoint_configuration_id: configuration },
        { '/http_endpoint_configuration_id': 'must be of type http' },
      ],
      [
        'POST',
        '/ssh_host_certificates',
        { ssh_certificate_authority_id: newId('sshca'), public_key: 'ssh-ed25519 AAAA' },
        { '/public_key': expect.any(String) },
      ],
      [
        'POST',
        '/ssh_host_certificates',
        { ssh_certificate_authority_id: authority, public_key },
        { '/ssh_certificate_authority_id': 'does not exist' },
      ],
      [
        'POST',
        '/ssh_certificate_authorities',
        { private_key_type: 'ed25519', elliptic_curve: 'nistp256' },
        { '/elliptic_curve': 'applies only to private_key_type ecdsa, not to ed25519' },
      ],
    ];
    for (const [index, [method, path, body, reasons]] of refused.entries()) {
      const headers = { 'x-request-id': `rule-${index}` };
      expect((await admin.send(method, path, { body, headers })).status, path).toBe(400);
      expect(logged(`rule-${index}`)).toMatchObject([{ reasons }]);
    }
    const log = api.logs.join('\n');
    for (const sent of [policy, owner, authority, configuration, 'x.example.com', 'other.test'])
      expect(log).not.toContain(sent);
  });

  test('of a probe is logged at debug', async () => {
    await anonymous.get('/healthz', { 'x-request-id': 'probe-1' });
    expect(logged('probe-1')).toMatchObject([{ level: 20, route: '/healthz', status: 200 }]);
  });

  test('keeps the id it came with, if that is harmless', async () => {
    expect((await admin.get('/ip_policies', { 'x-request-id': 'abc/DEF-1.2:3_4' })).headers['x-request-id']).toBe(
      'abc/DEF-1.2:3_4',
    );
    for (const id of ['', 'a b', 'x'.repeat(129), 'ü', '{"a":1}', '<script>']) {
      const given = (await admin.get('/ip_policies', { 'x-request-id': id })).headers['x-request-id'];
      expect(given).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  test('that fails inside is logged with the reason, which the answer does not tell', async () => {
    await api.rows('alter table ip_policies rename to hidden');
    const reply = await admin.get('/ip_policies', { 'x-request-id': 'failed-1' });
    await api.rows('alter table hidden rename to ip_policies');
    expect(reply.error).toMatchObject({ error_code: 'INTERNAL_ERROR', details: { request_id: 'failed-1' } });
    expect(reply.text).not.toMatch(/relation|select|ip_policies/);
    const error = logged('failed-1').find(({ level }) => level === 50);
    expect(JSON.stringify(error)).toContain('relation \\"ip_policies\\" does not exist');
  });
});

test('requests beyond a limit are one warning, and a line each only at debug', async () => {
  const limited = await startTestApi({ rateLimits: { perKey: 2, perAddress: 2, windowMs: 3_600_000 } });
  for (let n = 0; n < 3; n++) await limited.admin.get('/ip_policies');
  for (let n = 0; n < 10; n++) await limited.anonymous.get('/ip_policies');
  const lines = limited.logs.map((text) => line.parse(JSON.parse(text)));
  const refused = lines.filter(({ status }) => status === 429);
  expect(refused.map(({ level }) => level)).toEqual(Array(9).fill(20));
  expect(lines.filter(({ level }) => level > 30)).toMatchObject([
    { msg: 'refusing requests', reason: 'Too many requests; try again later.' },
  ]);
});

describe('GET /metrics', () => {
  test('counts requests by documented path, so that ids make no series', async () => {
    const { id } = JSON.parse((await admin.post('/ip_policies', {})).text);
    await admin.get(`/ip_policies/${id}`);
    await admin.get('/nothing-here');
    await anonymous.get('/openapi.json');
    const { text, headers } = await anonymous.get('/metrics');
    expect(headers['content-type']).toMatch(/^text\/plain/);
    expect(text).toMatch(
      /http_request_duration_seconds_count\{method="GET",route="\/ip_policies\/\{id\}",status_code="200"\} \d/,
    );
    expect(text).toMatch(
      /http_request_duration_seconds_count\{method="GET",route="\/openapi.json",status_code="200"\} \d/,
    );
    expect(text).toMatch(/http_request_duration_seconds_count\{method="GET",route="unmatched",status_code="404"\} \d/);
    expect(text).not.toContain(id);
  });

  test('shows the connections to the database, and the process', async () => {
    const { text } = await anonymous.get('/metrics');
    for (const state of ['used', 'idle', 'waiting']) expect(text).toContain(`db_pool_connections{state="${state}"}`);
    expect(text).toContain('process_cpu_seconds_total');
    expect(text).toContain('nodejs_eventloop_lag_seconds');
  });

  test('counts nothing that has not happened', async () => {
    const { text } = await anonymous.get('/metrics');
    for (const name of ['http_connections_refused_total', 'http_connections'])
      expect(text).toMatch(new RegExp(`^${name} 0$`, 'm'));
  });
});
