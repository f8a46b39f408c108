/** What the chart and the operator make of the kinds of other projects meets the schemas that these publish. */
import { execFile } from 'node:child_process';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { startOwnControlPlane } from '../../dev/control-plane/control-plane.ts';
import { hasGo } from '../../dev/control-plane/go-build.ts';
import { GROUP } from '../../src/operator/contract/names.ts';
import { recordsOf } from '../../src/operator/kinds/reserved-domain.ts';
import { REFERENCE_GRANTS } from '../../src/operator/managed/knowledge/reference-grants.ts';
import { DNS_ENDPOINTS, endpointSpec } from '../../src/operator/managed/object/dns-endpoint.ts';
import { reservedDomain } from '../../src/resources/reserved-domain.ts';
import type { CommandResult } from '../harness.ts';
import { skipFor } from '../skip.ts';
import { render } from './helm.ts';
import { MATRIX } from './matrix.ts';
import { upstreamCrds } from './upstream-crds.ts';

const OWN = new Set(['postgresql.cnpg.io', 'gateway.networking.k8s.io', 'monitoring.coreos.com', 'externaldns.k8s.io']);
const groupOf = ({ apiVersion }: { apiVersion: string }) => apiVersion.split('/', 1)[0] ?? '';

const WILDCARD = reservedDomain.view.parse({
  id: 'rd_01m7yvm3eyf20vnt1006h45zq2',
  uri: 'http://api.example.com/reserved_domains/rd_01m7yvm3eyf20vnt1006h45zq2',
  created_at: '2026-01-01T00:00:00.000Z',
  description: '',
  metadata: '',
  domain: '*.shop.example.com',
  region: 'us',
  cname_target: 'a1.cname.tunnels.example.com',
  certificate: null,
  certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
  certificate_management_status: null,
  acme_challenge_cname_target: 'a1.acme.tunnels.example.com',
  http_endpoint_configuration: null,
  https_endpoint_configuration: null,
});

describe(
  'the kinds of other projects',
  skipFor((await hasGo()) ? undefined : 'there is no Go to fetch them with'),
  () => {
    let kubectl: (args: readonly string[], input: unknown) => Promise<CommandResult>;

    beforeAll(async () => {
      const plane = await startOwnControlPlane({ controllerManager: false });
      kubectl = (args, input) =>
        new Promise((resolve) => {
          const all = ['--kubeconfig', plane.kubeconfigPath, ...args];
          const child = execFile(plane.kubectlPath, all, (error, stdout, stderr) =>
            resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
          );
          child.stdin?.end(JSON.stringify(input));
        });
      const files = (await upstreamCrds()).flatMap((file) => ['-f', file]);
      expect(await kubectl(['apply', '--server-side', ...files], undefined)).toMatchObject({ code: 0 });
      const established = ['wait', '--for=condition=Established', '--timeout=60s', ...files];
      expect(await kubectl(established, undefined)).toMatchObject({ code: 0 });
      // The server begins to serve a kind a moment after it has said that it does.
      const { stdout } = await kubectl(['get', '-o', 'name', ...files], undefined);
      const kinds = stdout
        .trim()
        .split('\n')
        .map((name) => name.slice(name.indexOf('/') + 1));
      await vi.waitFor(async () => {
        for (const kind of kinds) expect(await kubectl(['get', kind], undefined)).toMatchObject({ code: 0 });
      }, 60_000);
      return () => plane.stop();
    }, 300_000);

    const accepts = (items: readonly object[]) =>
      expect(
        kubectl(['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'], {
          apiVersion: 'v1',
          kind: 'List',
          items,
        }),
      ).resolves.toMatchObject({ code: 0, stderr: '' });

    test('are as these projects want them in what the chart renders', async () => {
      const recovery = { source: 'tunnels', database: 'tunnel_operator', owner: 'tunnel_operator' };
      const restored = { database: { cloudNativePG: { enabled: true, spec: { bootstrap: { recovery } } } } };
      const values = [...Object.values(MATRIX), restored];
      const objects = (await Promise.all(values.map((each) => render(each, { namespace: 'default' })))).flat();
      const foreign = objects.filter((object) => OWN.has(groupOf(object)));
      const kinds = new Set(foreign.map(({ kind }) => kind));
      expect([...kinds].sort()).toEqual(['Cluster', 'HTTPRoute', 'PrometheusRule', 'ServiceMonitor']);
      for (const object of foreign) await accepts([object]);
    });

    test('are so in what the operator writes, and in what it asks its users to write', async () => {
      const { group, version } = DNS_ENDPOINTS;
      const spec = endpointSpec(recordsOf(WILDCARD));
      expect(spec.endpoints).toHaveLength(2);
      const metadata = { name: 'shop', namespace: 'default' };
      const grant = {
        from: [{ group: GROUP, kind: 'HTTPSEdgeRoute', namespace: 'shop' }],
        to: [{ group: GROUP, kind: 'HTTPResponseBackend', name: 'down' }],
      };
      await accepts([
        { apiVersion: `${group}/${version}`, kind: 'DNSEndpoint', metadata, spec },
        {
          apiVersion: `${REFERENCE_GRANTS.group}/${REFERENCE_GRANTS.version}`,
          kind: 'ReferenceGrant',
          metadata,
          spec: grant,
        },
      ]);
    });

    test('are held to their schemas', async () => {
      const wrong = { apiVersion: 'externaldns.k8s.io/v1alpha1', kind: 'DNSEndpoint', metadata: { name: 'x' } };
      const refused = await kubectl(['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'], {
        ...wrong,
        spec: { endpoints: [{ dnsName: 1, target: 'unknown' }] },
      });
      // Which of the two it names depends on whether the API server has built its OpenAPI document of the kind.
      expect(refused.stderr).toMatch(/spec\.endpoints\[0\]\.(target|dnsName)/);
    });
  },
);
