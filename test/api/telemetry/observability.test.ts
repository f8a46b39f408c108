import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startTestApi } from '../harness.ts';

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
  test('is logged on one line: id, method, documented path, status and milliseconds', async () => {
    const { id } = JSON.parse((await admin.post('/ip_policies', {})).text);
    await admin.get(`/ip_policies/${id}?x=1`, { 'x-request-id': 'logged-1' });
    expect(logged('logged-1')).toMatchObject([
      { level: 30, msg: 'request', method: 'GET', route: '/ip_policies/{id}', status: 400, ms: expect.any(Number) },
    ]);
  });

  test('that is invalid is logged with the reasons, but with nothing that it sent', async () => {
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
    expect(logged('invalid-11')).toMatchObject([
      { reasons: { '?…': expect.stringContaining('unknown query parameter') } },
    ]);
    expect(api.logs.join('\n')).not.toContain(sent);
  });

  test.each<[string, string, object | string, Record<string, string>]>([
    ['JSON', '/ip_policies', '{"a": 1', { body: 'is not valid JSON' }],
    ['a key given twice', '/ip_policies', '{"a": 1, "a": 1}', { body: 'has a key twice in one object' }],
    ['a PEM', '/certificate_authorities', { ca_pem: 'x' }, { '/ca_pem': expect.stringMatching(/^is not PEM: /) }],
    [
      'the label of a PEM',
      '/certificate_authorities',
      { ca_pem: '-----BEGIN HUNTER-----\nAA==\n-----END HUNTER-----\n' },
      { '/ca_pem': 'is not a CERTIFICATE' },
    ],
    [
      'a truncated PEM',
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
    ['a domain of one label', '/reserved_domains', { domain: '*.example' }, { '/domain': expect.any(String) }],
  ])('that is invalid because of %s is logged without repeating it', async (what, path, body, reasons) => {
    const id = `why-${what.replaceAll(' ', '-')}`;
    expect((await admin.post(path, body, { 'x-request-id': id })).status).toBe(400);
    expect(logged(id)).toMatchObject([{ reasons }]);
    expect(JSON.stringify(logged(id)).toLowerCase()).not.toContain('hunter');
  });

  test('that fails internally is logged with the reason, which the response does not reveal', async () => {
    await api.rows('alter table ip_policies rename to hidden');
    const reply = await admin.get('/ip_policies', { 'x-request-id': 'failed-1' });
    await api.rows('alter table hidden rename to ip_policies');
    expect(reply.error).toMatchObject({ error_code: 'INTERNAL_ERROR', details: { request_id: 'failed-1' } });
    expect(reply.text).not.toMatch(/relation|select|ip_policies/);
    const error = logged('failed-1').find(({ level }) => level === 50);
    expect(JSON.stringify(error)).toContain('relation \\"ip_policies\\" does not exist');
  });
});

describe('GET /metrics', () => {
  test('counts requests by documented path, so that ids create no series', async () => {
    const { id } = JSON.parse((await admin.post('/ip_policies', {})).text);
    await admin.get(`/ip_policies/${id}`);
    await admin.get('/nothing-here');
    await anonymous.get('/openapi.json');
    const { text, headers } = await anonymous.get('/metrics');
    expect(headers['content-type']).toMatch(/^text\/plain/);
    expect(text).toMatch(
      /tunnel_api_http_request_duration_seconds_count\{method="GET",route="\/ip_policies\/\{id\}",status_code="200"\} \d/,
    );
    expect(text).toMatch(
      /tunnel_api_http_request_duration_seconds_count\{method="GET",route="\/openapi.json",status_code="200"\} \d/,
    );
    expect(text).toMatch(
      /tunnel_api_http_request_duration_seconds_count\{method="GET",route="unmatched",status_code="404"\} \d/,
    );
    expect(text).not.toContain(id);
  });
});
