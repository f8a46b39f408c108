/** The command `plan` shows what applying files would change in the API, without writing to it or to the cluster. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { certificates } from '../../dev/conformance/certificates.ts';
import { API_VERSION, GROUP } from '../../src/operator/contract/names.ts';
import { runCommand } from './command.ts';
import { type Manifest, manifest, ours, POLICIES, policy } from './manifest.ts';
import { core, NOTHING, startPlanning, textOf } from './planning.ts';
import { eventually } from './stack.ts';

const { stack, plan, given, env } = await startPlanning('plan');
const { namespace } = stack;
const pem = await certificates();
const AUTHORITIES = ours('certificateauthorities');
const CONFIGURATIONS = ours('endpointconfigurations');
const BACKENDS = ours('httpresponsebackends');

describe('plan', () => {
  test('shows each field of what would be created', async () => {
    await given();
    const rules = [{ cidr: '192.0.2.0/24', action: 'allow' }];
    const input = textOf([policy('new', { description: 'office', rules })]);
    const { code, stdout, stderr } = await runCommand(['plan', '-f', '-', '-n', namespace], env, input);
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

  test('says that nothing would change, or which members would', async () => {
    const rule = { cidr: '192.0.2.0/24', action: 'allow' };
    await given(policy('known', { description: 'a', rules: [rule, { cidr: '10.0.0.0/8', action: 'deny' }] }));
    const { id } = (await stack.see(POLICIES, 'known')).status;
    const same = await plan([
      policy('known', { description: 'a', rules: [{ cidr: '10.0.0.0/8', action: 'deny' }, rule] }),
    ]);
    expect(same.stdout).toContain(`= no change IPPolicy ${namespace}/known (${id})\n`);
    expect(same.stdout).toContain(`Plan: ${NOTHING}, 1 without a change, 0 blocked.`);
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

  test('says what is replaced, and why', async () => {
    const authority = (text: string) => manifest('CertificateAuthority', 'ca', { caPem: { value: text } });
    await given(authority(pem.ca));
    const { id } = (await stack.see(AUTHORITIES, 'ca')).status;
    const { code, stdout } = await plan([authority(pem.ca_expired)]);
    expect(code).toBe(2);
    expect(stdout).toContain(
      `-/+ replace CertificateAuthority ${namespace}/ca (${id}: spec.caPem changed, which ${id} cannot take)\n    spec.caPem: "-----BEGIN`,
    );
    expect(stdout).toContain('Plan: 0 to create, 0 to change, 1 to replace');
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

  test('plans no change for objects that are paused, invalid, immutable, or have nothing to observe', async () => {
    await given(manifest('EndpointConfiguration', 'fixed', { type: 'http' }));
    const objects = [
      policy('paused', {}, { [`${GROUP}/paused`]: 'true' }),
      policy('observed', { managementPolicy: 'Observe' }),
      policy('typo', { descripton: 'x' }),
      policy('wrong', { rules: [{ cidr: 'x', action: 'maybe' }] }),
      manifest('EndpointConfiguration', 'fixed', { type: 'https' }),
      manifest('Tunnel', 'unknown', {}),
    ];
    const { code, stdout } = await plan(objects);
    expect(code).toBe(1);
    expect(stdout).toContain(`= no change IPPolicy ${namespace}/paused (paused)`);
    expect(stdout).toContain(`! blocked IPPolicy ${namespace}/observed (There is nothing to observe: `);
    expect(stdout).toContain(`! blocked IPPolicy ${namespace}/typo (spec.descripton: unknown field)`);
    expect(stdout).toMatch(new RegExp(`! blocked IPPolicy ${namespace}/wrong \\(spec\\.rules\\[0\\]\\.`));
    expect(stdout).toMatch(/! blocked EndpointConfiguration .*spec\.type: .*type is immutable; delete this object/);
    expect(stdout).toContain(`the operator has no kind Tunnel of ${API_VERSION}`);
    expect(stdout).toContain(`Plan: ${NOTHING}, 1 without a change, 5 blocked.`);
  });

  test('shows the modules of edges and routes, setting by setting', async () => {
    const oidc = { issuer: 'https://a.example.com', clientId: { value: 'portal' } };
    const clientSecret = { secretKeyRef: { name: 'oidc', key: 'secret' } };
    const modules = (settings: object) =>
      manifest('HTTPSEdgeRouteModules', 'portal', { routeRef: { name: 'portal' }, ...settings });
    const route = manifest('HTTPSEdgeRoute', 'portal', {
      edgeRef: { name: 'portal' },
      match: '/',
      matchType: 'path_prefix',
    });
    const secret = (text: string) => core('Secret', 'oidc', { stringData: { secret: text } });
    const all = [manifest('HTTPSEdge', 'portal', {}), route, modules({ oidc: { ...oidc, clientSecret } })];
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
    // The secret stays the same, so only the changed setting is listed.
    const changed = await plan([modules({ oidc: { ...oidc, issuer: 'https://b.example.com', clientSecret } })]);
    expect(changed.stdout.split('\n').slice(0, 3)).toEqual([
      `~ change HTTPSEdgeRouteModules ${namespace}/portal (${id})`,
      '    spec.oidc.issuer: "https://a.example.com" → "https://b.example.com"',
      '',
    ]);
    const renewed = await plan([...all, secret('hidden two')]);
    expect(renewed.stdout).toContain('    spec.oidc.clientSecret: (secret) changed\n\n');
    expect(renewed.code).toBe(2);
    for (const { stdout } of [created, changed, renewed]) expect(stdout).not.toContain('hidden');

    const other = manifest('HTTPSEdgeRoute', 'other', {
      edgeRef: { name: 'portal' },
      match: '/x',
      matchType: 'path_prefix',
    });
    const elsewhere = { routeRef: { name: 'other' }, oauth: { provider: { google: {} } } };
    const moved = await plan([other, manifest('HTTPSEdgeRouteModules', 'portal', elsewhere)]);
    expect(moved.stdout).toContain(
      `-/+ replace HTTPSEdgeRouteModules ${namespace}/portal (spec.routeRef changed: the modules of ${id} are deleted)`,
    );
  });

  test('finds referenced objects in the files and in the cluster, in any order', async () => {
    await given(
      policy('in-cluster'),
      manifest('EndpointConfiguration', 'ec', { type: 'http', ipPolicyRefs: [{ name: 'in-cluster' }] }),
    );
    const { id } = (await stack.see(CONFIGURATIONS, 'ec')).status;
    const ec = (...names: string[]) =>
      manifest('EndpointConfiguration', 'ec', { type: 'http', ipPolicyRefs: names.map((name) => ({ name })) });
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
      `! blocked EndpointConfiguration ${namespace}/ec (spec.ipPolicyRefs[1]: IPPolicy ${namespace}/nowhere does not exist: create it, or correct the reference)`,
    );
  });

  test('reads sources from the files and the cluster, and shows only that a Secret changes, not its text', async () => {
    const spec = {
      body: { secretKeyRef: { name: 'page', key: 'html' } },
      headers: { 'x-note': { configMapKeyRef: { name: 'page', key: 'note' } } },
    };
    await stack.apply(
      core('Secret', 'page', { stringData: { html: 'hidden one' } }) as Manifest,
      core('ConfigMap', 'page', { data: { note: 'seen one' } }) as Manifest,
    );
    await given(manifest('HTTPResponseBackend', 'page', spec));
    const { id } = (await stack.see(BACKENDS, 'page')).status;
    const backend = manifest('HTTPResponseBackend', 'page', spec);
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
    // The new text is not secret, but the old one is.
    const inline = await plan([manifest('HTTPResponseBackend', 'page', { ...spec, body: { value: 'open' } })], {
      output: 'json',
    });
    expect(JSON.parse(inline.stdout).objects[0].changes).toEqual([{ path: 'spec.body', secret: 'changed' }]);
    const created = await plan([secret, manifest('HTTPResponseBackend', 'other', spec)]);
    expect(created.stdout).toContain('    spec.body: (secret)\n');
    for (const { stdout } of [changed, inline, created]) expect(stdout).not.toContain('hidden');
    const missing = await plan([
      manifest('HTTPResponseBackend', 'page', { body: { secretKeyRef: { name: 'no', key: 'x' } } }),
    ]);
    expect(missing.stdout).toContain(`(spec.body: Secret ${namespace}/no does not exist: create it, or name another)`);
    expect(missing.code).toBe(1);
  });

  test('reports in one line what it cannot read', async () => {
    await given();
    const none = await runCommand(['plan', '-f', join(env.HOME, 'none')], env);
    expect(none).toMatchObject({ code: 1, stdout: '' });
    expect(none.stderr).toMatch(/^tunnel-operator failed: .*none does not exist\n$/);
    const unloadable = await runCommand(['plan', '-f', env.HOME], { ...env, KUBECONFIG: '/dev/null' });
    expect(unloadable.stderr).toContain('KUBECONFIG is "/dev/null", which cannot be loaded');
    expect((await runCommand(['plan'], env)).stderr).toContain("required option '-f, --filename <path>' not specified");
    await expect(plan([{ kind: 'IPPolicy' }])).rejects.toThrow(/, document 1 is no Kubernetes object: /);
    const adopting = policy('x', {}, { [`${GROUP}/adopt`]: 'ipp_01jd0000000000000000000000' });
    await expect(plan([adopting], { apiKey: 'wrong' })).rejects.toThrow(/^the management API at http/);
  });
});
