/** The command `plan` announces what `kubectl apply` of the same files and a reconcile then change in the API. */
import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { CREDENTIALS, credential, type Manifest, manifest, type ours, POLICIES, policy } from './manifest.ts';
import { startPlanning } from './planning.ts';

const { stack, plan, planned, applied, given } = await startPlanning('plan-applied');
const { namespace } = stack;

const idOf = async (type: ReturnType<typeof ours>, name: string) => String((await stack.see(type, name)).status.id);
const typesOf = (events: Awaited<ReturnType<typeof applied>>) => events.map(({ type }) => type.replace(/\.v0$/, ''));
const PAUSED = { [ANNOTATION.paused]: 'true' };

/** Changes an object as a field manager other than the one that applies files. */
const patch = (kind: string, name: string, body: object) =>
  stack.run('patch', kind, name, '--type=merge', '-p', JSON.stringify(body));

describe('plan and apply', () => {
  test('agree on a new credential when a rotation is requested, or made due by a shorter interval', async () => {
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

  test('agree that server-side apply removes what only its manager has set', async () => {
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

  test('agree on how objects follow those that they refer to, setting by setting', async () => {
    const named = (name: string) => ({ name });
    const backendRef = { kind: 'HTTPResponseBackend', name: 'page' };
    const oidc = (issuer: string) => ({ issuer, clientId: { value: 'x' }, clientSecret: { value: 'y' } });
    const route = (edge: string) =>
      manifest('HTTPSEdgeRoute', 'way', { edgeRef: named(edge), match: '/', matchType: 'path_prefix', backendRef });
    const signIn = (issuer: string, more = {}) =>
      manifest('HTTPSEdgeRouteModules', 'way', { routeRef: named('way'), oidc: oidc(issuer) }, more);
    const tls = (policyName: string, more = {}) =>
      manifest('TLSEdgeModules', 'tls', {
        tlsEdgeRef: named('tls'),
        ipRestriction: { ipPolicyRefs: [named(policyName)] },
        backend: { backendRef },
        ...more,
      });
    const destination = (more = {}) =>
      manifest('EventDestination', 'hook', { target: { webhook: { url: 'https://hook.example.com' } } }, more);
    const rest = [
      manifest('HTTPSEdge', 'one', {}),
      manifest('HTTPSEdge', 'two', {}),
      manifest('TLSEdge', 'tls', {}),
      manifest('HTTPResponseBackend', 'page', { body: { value: 'hello' } }),
      policy('near'),
      policy('far'),
      manifest('EventSubscription', 'all', {
        sources: [{ type: 'ip_policy_created.v0' }],
        destinationRefs: [named('hook')],
      }),
    ];
    await given();
    /** What the plan announces, and what applying the files does. */
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
      done: ['https_edge_route_oidc_updated', 'tls_edge_ip_restriction_updated'],
    });
    const observed = tls('near', { managementPolicy: 'Observe' });
    const third = [route('one'), signIn('https://c.example.com', paused), observed, destination(rotated)];
    expect(await agreed(...third)).toEqual({
      said: ['change EventDestination'],
      done: ['event_destination_updated'],
    });
    const moved = [route('two'), signIn('https://c.example.com'), tls('near'), destination()];
    const { said, done } = await agreed(...moved);
    expect({
      said,
      // Resumed at the same moment, the modules may still change those of the old route.
      done: done.filter((type) => type !== 'https_edge_route_oidc_updated'),
    }).toEqual({
      said: [
        'replace HTTPSEdgeRoute spec.edgeRef',
        // Lists every setting that the new route gets.
        expect.stringMatching(/^replace HTTPSEdgeRouteModules spec\.routeRef spec\.oidc\./),
        'change TLSEdgeModules spec.ipRestriction.ipPolicyRefs',
      ],
      done: [
        'https_edge_route_created',
        'https_edge_route_deleted',
        'https_edge_route_oidc_created',
        'https_edge_route_updated',
        'tls_edge_ip_restriction_updated',
      ],
    });
    expect(await agreed(...moved)).toEqual({ said: [], done: [] });
  });
});
