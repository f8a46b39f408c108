/** That what the command `plan` says is what `kubectl apply` of the same files and a reconcile do at the API. */
import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { core, object, startPlanning } from './planning.ts';
import { CREDENTIALS, credential, eventually, type Manifest, ours, POLICIES, policy } from './stack.ts';

const { stack, plan, planned, applied, given } = await startPlanning('plan-applied');
const { namespace } = stack;

const idOf = async (type: ReturnType<typeof ours>, name: string) => String((await stack.see(type, name)).status.id);
const typesOf = (events: Awaited<ReturnType<typeof applied>>) => events.map(({ type }) => type.replace(/\.v0$/, ''));
const PAUSED = { [ANNOTATION.paused]: 'true' };

/** Another one than whoever applies files. */
const patch = (kind: string, name: string, body: object) =>
  stack.run('patch', kind, name, '--type=merge', '-p', JSON.stringify(body));

describe('plan and apply', () => {
  test('a rotation that is requested, or that a shorter interval makes due, issues a new credential', async () => {
    const spec = { rotation: { overlap: '0s' } };
    await given(credential('rotating', spec));
    const first = await idOf(CREDENTIALS, 'rotating');
    const requested = credential('rotating', spec, { [ANNOTATION.rotateRequestedAt]: 'today' });
    const { code, stdout } = await plan([requested]);
    expect(stdout).toContain(
      `-/+ replace TunnelCredential ${namespace}/rotating (${first}: Rotation was requested (today); the old token keeps working for another 0 s)\n\n`,
    );
    expect(code).toBe(2);
    expect(typesOf(await applied(requested))).toEqual(['credential_created', 'credential_deleted']);
    const second = await idOf(CREDENTIALS, 'rotating');
    expect(second).not.toBe(first);
    expect(await plan([requested])).toMatchObject({ code: 0 });

    await stack.sql(`update credentials set created_at = created_at - interval '2 hours' where id = $1`, [second]);
    const hourly = credential('rotating', { rotation: { overlap: '0s', interval: '1h' } });
    expect((await plan([hourly])).stdout).toContain(`(${second}: The token is older than 1h; it keeps working`);
    expect(typesOf(await applied(hourly))).toEqual(['credential_created', 'credential_deleted']);
  });

  test('what was superseded while the object was paused goes when that ends', async () => {
    await given(credential('resting'));
    const first = await idOf(CREDENTIALS, 'resting');
    await applied(credential('resting', {}, { [ANNOTATION.rotateRequestedAt]: 'today' }));
    await applied(credential('resting', {}, PAUSED));
    // Its time has come meanwhile.
    const retiring = [{ id: first, generation: 1, after: new Date().toISOString() }];
    await stack.annotate(CREDENTIALS, 'resting', { [ANNOTATION.retiring]: JSON.stringify(retiring) });
    await given();
    expect(await plan([credential('resting', {}, PAUSED)])).toMatchObject({ code: 0 });
    const { code, stdout } = await plan([credential('resting')]);
    expect(stdout).toContain(`: ${first}, which is superseded, is deleted)\n\n`);
    expect(code).toBe(2);
    expect(typesOf(await applied(credential('resting')))).toEqual(['credential_deleted']);
  });

  test('a request that an adopted or a new credential has from the beginning rotates nothing', async () => {
    const { id } = await stack.client.credentials.create({});
    await given();
    const requested = { [ANNOTATION.rotateRequestedAt]: 'today' };
    const taken = credential('taken', {}, { ...requested, [ANNOTATION.adopt]: id });
    const made = credential('made', {}, requested);
    const { objects } = await planned([taken, made]);
    expect(objects.map(({ action }) => action)).toEqual(['none', 'create']);
    expect(typesOf(await applied(taken, made))).toEqual(['credential_created']);
  });

  test('what the file has no more is removed if it was applied, and stays if somebody else has set it', async () => {
    await given(policy('edited', { description: 'a', metadata: 'x' }));
    const paused = policy('edited', { description: 'b', metadata: 'x' }, PAUSED);
    expect((await plan([paused])).stdout).toContain('(paused)');
    expect(await applied(paused)).toEqual([]);
    const resumed = policy('edited', { description: 'b' });
    const { code, stdout } = await plan([resumed]);
    expect(stdout).toContain(
      '    spec.description: "a" → "b"\n    spec.metadata: "x" → (none)\n\nPlan: 0 to create, 1 to change',
    );
    expect(code).toBe(2);
    expect(typesOf(await applied(resumed))).toEqual(['ip_policy_updated']);

    await patch('ippolicy', 'edited', { spec: { metadata: 'theirs' }, metadata: { annotations: PAUSED } });
    await given();
    expect((await plan([resumed])).stdout).toContain('(paused)');
    await patch('ippolicy', 'edited', { metadata: { annotations: { [ANNOTATION.paused]: null } } });
    await given(resumed);
    expect(await plan([resumed])).toMatchObject({ code: 0 });
    expect(await applied(resumed)).toEqual([]);
    expect(await stack.client.ipPolicies.get(await idOf(POLICIES, 'edited'))).toMatchObject({ metadata: 'theirs' });
  });

  test('an annotation adopt that is taken away has no effect any more', async () => {
    await given();
    const adopting = policy('mistaken', {}, { [ANNOTATION.adopt]: 'ipp_01jd0000000000000000000000' });
    expect(await plan([adopting])).toMatchObject({ code: 1 });
    expect(await applied(adopting)).toEqual([]);
    expect((await plan([policy('mistaken')])).stdout).toContain(`+ create IPPolicy ${namespace}/mistaken`);
    expect(typesOf(await applied(policy('mistaken')))).toEqual(['ip_policy_created']);
  });

  test('server-side apply removes what its manager alone has set', async () => {
    const serverSide = async (manifest: Manifest) => {
      const result = await stack.tryApply(manifest, '--server-side');
      expect(result).toMatchObject({ code: 0 });
      return applied();
    };
    await given();
    await serverSide(policy('managed', { description: 'a', metadata: 'x' }, PAUSED));
    await patch('ippolicy', 'managed', { metadata: { labels: { theirs: 'yes' } } });
    await given();
    const resumed = policy('managed', { description: 'b' });
    const { code, stdout } = await plan([resumed]);
    expect(stdout).toContain(
      `+ create IPPolicy ${namespace}/managed\n    spec.description: "b"\n    spec.rules: []\n\n`,
    );
    expect(code).toBe(2);
    await serverSide(resumed);
    await stack.ready(POLICIES, 'managed');
    await given();
    expect(await plan([resumed])).toMatchObject({ code: 0 });
    const kept = policy('managed', { description: 'b', metadata: 'kept' });
    await serverSide(kept);
    await patch('ippolicy', 'managed', { spec: { description: 'theirs' } });
    await stack.ready(POLICIES, 'managed');
    await given();
    const refused = await plan([kept]);
    expect(refused.stdout).toMatch(
      /! blocked IPPolicy \S+\/managed \(Apply failed with 1 conflict: conflict with "kubectl-patch" .*\.spec\.description\)\n/,
    );
    expect(refused.code).toBe(1);
  });

  test('a ConfigMap keeps the keys that the file has never had, and no others', async () => {
    await stack.apply(core('ConfigMap', 'page', { data: { ours: 'one', gone: 'two' } }) as Manifest);
    await stack.run('patch', 'configmap', 'page', '--type=merge', '-p', '{"data":{"theirs":"three"}}');
    await given();
    const map = core('ConfigMap', 'page', { data: { ours: 'one' } });
    const from = (key: string) =>
      object('HTTPResponseBackend', key, { body: { configMapKeyRef: { name: 'page', key } } });
    const { objects } = await planned([map, from('ours'), from('theirs'), from('gone')]);
    expect(objects).toEqual([
      expect.objectContaining({ name: 'ours', action: 'create' }),
      expect.objectContaining({ name: 'theirs', action: 'create' }),
      expect.objectContaining({ name: 'gone', action: 'blocked' }),
    ]);
  });

  test('what only observes has the id that it names, if there is such a resource', async () => {
    const { id } = await stack.client.ipPolicies.create({});
    await given();
    const watching = (name: string, adopt?: string) =>
      policy(name, { managementPolicy: 'Observe' }, adopt === undefined ? {} : { [ANNOTATION.adopt]: adopt });
    const referring = (name: string) =>
      object('EndpointConfiguration', name, { type: 'http', ipPolicyRefs: [{ name }] });
    const both = (name: string, adopt?: string) => [watching(name, adopt), referring(name)];
    const { code, objects } = await planned(both('watched', id));
    expect(code).toBe(2);
    expect(objects).toEqual([
      expect.objectContaining({ action: 'none', id, reason: 'only observed' }),
      expect.objectContaining({ action: 'create' }),
    ]);
    expect(typesOf(await applied(...both('watched', id)))).toEqual(['endpoint_configuration_created']);
    const missing = await plan([...both('gone', 'ipp_01jd0000000000000000000000'), ...both('nothing')]);
    expect(missing.stdout).toContain(
      `! blocked IPPolicy ${namespace}/gone (ipp_01jd0000000000000000000000, which is to be observed, does not exist)`,
    );
    expect(missing.stdout).toContain(`! blocked IPPolicy ${namespace}/nothing (There is nothing to observe: `);
    expect(missing.stdout).toContain('4 blocked');
  });

  test('a route that is to have modules waits for them, whoever declares them', async () => {
    const way = { edgeRef: { name: 'held' }, match: '/', matchType: 'path_prefix' };
    const backendRef = { kind: 'HTTPResponseBackend', name: 'held' };
    const route = object('HTTPSEdgeRoute', 'held', { ...way, backendRef, requireModules: true });
    const secretless = object('HTTPSEdgeRouteModules', 'held', {
      routeRef: { name: 'held' },
      oidc: {
        issuer: 'https://a.example.com',
        clientId: { value: 'x' },
        clientSecret: { secretKeyRef: { name: 'held', key: 'secret' } },
      },
    });
    const secret = core('Secret', 'held', { stringData: { secret: 's' } }) as Manifest;
    await given(object('HTTPSEdge', 'held', {}), object('HTTPResponseBackend', 'held', { body: { value: 'x' } }));
    const first = await plan([route]);
    expect(first.stdout).toContain(`+ create HTTPSEdgeRoute ${namespace}/held (spec.backendRef waits for modules)`);
    expect(first.stdout).not.toContain('    spec.backendRef');
    expect(typesOf(await applied(route))).toEqual(['https_edge_route_created']);
    expect(await plan([route])).toMatchObject({ code: 0 });
    expect(typesOf(await applied(route, secretless))).toEqual([]);
    expect(await plan([route])).toMatchObject({ code: 0 });
    const both = await planned([route, secretless, secret]);
    expect(both.objects.map(({ action, changes }) => [action, changes[0]?.path])).toEqual([
      ['change', 'spec.backendRef'],
      ['create', 'spec.routeRef'],
    ]);
    await applied(secret, secretless, route);
    expect(await plan([route])).toMatchObject({ code: 0 });
  });

  test('what was superseded goes also while the rest waits for modules', async () => {
    const way = { edgeRef: { name: 'wait' }, match: '/', matchType: 'path_prefix', requireModules: true };
    const route = (more: object, annotations = {}) =>
      object('HTTPSEdgeRoute', 'wait', { ...way, ...more }, annotations);
    const backend = object('HTTPResponseBackend', 'wait', { body: { value: 'x' } });
    await given(object('HTTPSEdge', 'wait', {}), backend, route({}));
    const id = await idOf(ours('httpsedgeroutes'), 'wait');
    await applied(route({}, PAUSED));
    const old = id.replace(/.{4}$/, '0000');
    const retiring = [{ id: old, generation: 1, after: new Date().toISOString() }];
    await stack.annotate(ours('httpsedgeroutes'), 'wait', { [ANNOTATION.retiring]: JSON.stringify(retiring) });
    // The operator says so in the condition, which is a change of the object.
    const shown = async () => (await stack.see(ours('httpsedgeroutes'), 'wait')).synced?.message;
    await eventually(async () => expect(await shown()).toContain(old));
    await given();
    const { code, stdout } = await plan([route({ backendRef: { kind: 'HTTPResponseBackend', name: 'wait' } })]);
    expect(stdout).toContain(
      `~ change HTTPSEdgeRoute ${namespace}/wait (${id}: spec.backendRef waits for modules; ${old}, which is superseded, is deleted)\n\n`,
    );
    expect(code).toBe(2);
  });

  test('what refers to others follows them, setting by setting', async () => {
    const named = (name: string) => ({ name });
    const backendRef = { kind: 'HTTPResponseBackend', name: 'page' };
    const oidc = (issuer: string) => ({ issuer, clientId: { value: 'x' }, clientSecret: { value: 'y' } });
    const route = (edge: string) =>
      object('HTTPSEdgeRoute', 'way', { edgeRef: named(edge), match: '/', matchType: 'path_prefix', backendRef });
    const signIn = (issuer: string, more = {}) =>
      object('HTTPSEdgeRouteModules', 'way', { routeRef: named('way'), oidc: oidc(issuer) }, more);
    const tls = (policyName: string, more = {}) =>
      object('TLSEdgeModules', 'tls', {
        tlsEdgeRef: named('tls'),
        ipRestriction: { ipPolicyRefs: [named(policyName)] },
        backend: { backendRef },
        ...more,
      });
    const destination = (more = {}) =>
      object('EventDestination', 'hook', { target: { webhook: { url: 'https://hook.example.com' } } }, more);
    const rest = [
      object('HTTPSEdge', 'one', {}),
      object('HTTPSEdge', 'two', {}),
      object('TLSEdge', 'tls', {}),
      object('HTTPResponseBackend', 'page', { body: { value: 'hello' } }),
      policy('near'),
      policy('far'),
      object('EventSubscription', 'all', {
        sources: [{ type: 'ip_policy_created.v0' }],
        destinationRefs: [named('hook')],
      }),
    ];
    await given();
    /** What is said to be done, and what is done. */
    const agreed = async (...changing: Manifest[]) => {
      const files = [...changing, ...rest];
      const { code, objects } = await planned(files);
      const events = await applied(...files);
      expect(code).toBe(events.length > 0 ? 2 : 0);
      const busy = objects.filter(({ action }) => action !== 'none');
      return {
        said: busy.map(({ kind, action, changes }) => [action, kind, ...changes.map(({ path }) => path)].join(' ')),
        done: [...new Set(typesOf(events))].sort(),
      };
    };
    const created = await agreed(route('one'), signIn('https://a.example.com'), tls('near'), destination());
    expect(created.said.map((each) => each.split(' ')[0])).toEqual(rest.concat(rest.slice(0, 4)).map(() => 'create'));
    const [paused, rotated] = [PAUSED, { [ANNOTATION.rotateRequestedAt]: 'today' }];
    expect(await agreed(route('one'), signIn('https://b.example.com'), tls('far'), destination())).toEqual({
      said: ['change HTTPSEdgeRouteModules spec.oidc.issuer', 'change TLSEdgeModules spec.ipRestriction.ipPolicyRefs'],
      done: ['https_edge_route_updated', 'tls_edge_updated'],
    });
    const observed = tls('near', { managementPolicy: 'Observe' });
    const third = [route('one'), signIn('https://c.example.com', paused), observed, destination(rotated)];
    expect(await agreed(...third)).toEqual({
      said: ['replace EventDestination', 'change EventSubscription spec.destinationRefs'],
      done: ['event_destination_created', 'event_subscription_updated'],
    });
    const moved = [route('two'), signIn('https://c.example.com'), tls('near'), destination()];
    expect(await agreed(...moved)).toEqual({
      said: [
        'replace HTTPSEdgeRoute spec.edgeRef',
        // All that the new route gets.
        expect.stringMatching(/^replace HTTPSEdgeRouteModules spec\.routeRef spec\.oidc\./),
        'change TLSEdgeModules spec.ipRestriction.ipPolicyRefs',
      ],
      done: ['https_edge_route_created', 'https_edge_route_deleted', 'https_edge_route_updated', 'tls_edge_updated'],
    });
    expect(await agreed(...moved)).toEqual({ said: [], done: [] });
  });
});
