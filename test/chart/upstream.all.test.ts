/** Objects of other projects' kinds, from the chart and the operator, match the schemas that those projects publish. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { startOwnControlPlane } from '../../dev/control-plane/control-plane.ts';
import { hasGo } from '../../dev/control-plane/go-build.ts';
import { DNS_ENDPOINTS, endpointSpec } from '../../src/operator/managed/object/dns-endpoint.ts';
import { type CommandResult, kubectlOn } from '../kubectl.ts';
import { skipFor } from '../skip.ts';
import { render } from './helm.ts';
import { MATRIX } from './matrix.ts';

interface Upstream {
  /** Go module and version. */
  readonly module: string;
  /** The checksum of the module's files, as in a go.sum. */
  readonly sum: string;
  /** Paths in the module, each of one definition. */
  readonly files: readonly string[];
}

/** The newest versions that need no newer Go than Kubernetes does. */
const UPSTREAM: readonly Upstream[] = [
  {
    module: 'sigs.k8s.io/gateway-api@v1.5.0',
    sum: 'h1:duoo14Ky/fJXpjpmyMISE2RTBGnfCg8zICfTYLTnBJA=',
    files: ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    files: ['servicemonitors', 'podmonitors', 'prometheusrules'].map(
      (each) => `example/prometheus-operator-crd/monitoring.coreos.com_${each}.yaml`,
    ),
  },
  {
    module: 'github.com/cloudnative-pg/cloudnative-pg@v1.29.0',
    sum: 'h1:49Dm8+y4va7RODspJjeaK8uMWP3OGAD0gMsxhjm16Mo=',
    files: ['config/crd/bases/postgresql.cnpg.io_clusters.yaml'],
  },
  {
    module: 'sigs.k8s.io/external-dns@v0.21.0',
    sum: 'h1:YAC7ERW32eZAjSdhu44taaZGII6nwz2/wteT+BtpFzM=',
    files: ['config/crd/standard/dnsendpoints.externaldns.k8s.io.yaml'],
  },
];

const downloaded = z.object({ Dir: z.string(), Sum: z.string() });

/**
 * Downloads the modules and returns the paths of all files.
 * @throws Error when Go or a module is unavailable, or a module has another checksum
 */
async function upstreamCrds(): Promise<string[]> {
  const files: string[] = [];
  for (const { module, sum, files: within } of UPSTREAM) {
    const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module]);
    const { Dir, Sum } = downloaded.parse(JSON.parse(stdout));
    if (Sum !== sum) throw new Error(`${module} has the checksum ${Sum}, not ${sum}`);
    files.push(...within.map((file) => join(Dir, file)));
  }
  return files;
}

const OWN = new Set(['postgresql.cnpg.io', 'gateway.networking.k8s.io', 'monitoring.coreos.com', 'externaldns.k8s.io']);
const groupOf = ({ apiVersion }: { apiVersion: string }) => apiVersion.split('/', 1)[0] ?? '';

describe(
  'the kinds of other projects',
  skipFor((await hasGo()) ? undefined : 'there is no Go to fetch them with'),
  () => {
    let kubectl: (args: readonly string[], input?: object) => Promise<CommandResult>;

    beforeAll(async () => {
      const plane = await startOwnControlPlane({ controllerManager: false });
      kubectl = (args, input) => kubectlOn(plane, args, { input: JSON.stringify(input ?? '') });
      const files = (await upstreamCrds()).flatMap((file) => ['-f', file]);
      expect(await kubectl(['apply', '--server-side', ...files])).toMatchObject({ code: 0 });
      const established = ['wait', '--for=condition=Established', '--timeout=60s', ...files];
      expect(await kubectl(established)).toMatchObject({ code: 0 });
      // The server serves a kind only a moment after it has reported it as established.
      const { stdout } = await kubectl(['get', '-o', 'name', ...files]);
      const kinds = stdout
        .trim()
        .split('\n')
        .map((name) => name.slice(name.indexOf('/') + 1));
      await vi.waitFor(async () => {
        for (const kind of kinds) expect(await kubectl(['get', kind])).toMatchObject({ code: 0 });
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

    test('match their schemas in what the chart renders', async () => {
      const recovery = { source: 'tunnels', database: 'tunnel_operator', owner: 'tunnel_operator' };
      const restored = { database: { cloudNativePG: { enabled: true, spec: { bootstrap: { recovery } } } } };
      const values = [...Object.values(MATRIX), restored];
      const objects = (await Promise.all(values.map((each) => render(each, { namespace: 'default' })))).flat();
      const foreign = objects.filter((object) => OWN.has(groupOf(object)));
      const kinds = new Set(foreign.map(({ kind }) => kind));
      expect([...kinds].sort()).toEqual(['Cluster', 'HTTPRoute', 'PodMonitor', 'PrometheusRule', 'ServiceMonitor']);
      for (const object of foreign) await accepts([object]);
    });

    test('match their schemas in what the operator writes', async () => {
      const { group, version } = DNS_ENDPOINTS;
      const spec = endpointSpec([{ name: '*.shop.example.com', type: 'CNAME', target: 'a1.tunnels.example.com' }]);
      const metadata = { name: 'shop', namespace: 'default' };
      await accepts([{ apiVersion: `${group}/${version}`, kind: 'DNSEndpoint', metadata, spec }]);
    });
  },
);
