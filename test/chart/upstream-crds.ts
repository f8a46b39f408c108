/** CustomResourceDefinitions as other projects publish them, from their Go modules with pinned checksums. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

interface Upstream {
  /** Go module and version. */
  readonly module: string;
  /** As in a go.sum: of all files of the module. */
  readonly sum: string;
  /** Within the module, a definition each. */
  readonly files: readonly string[];
}

/** The newest that need no newer Go than Kubernetes does. */
const UPSTREAM: readonly Upstream[] = [
  {
    module: 'sigs.k8s.io/gateway-api@v1.5.0',
    sum: 'h1:duoo14Ky/fJXpjpmyMISE2RTBGnfCg8zICfTYLTnBJA=',
    files: ['httproutes', 'referencegrants'].map(
      (each) => `config/crd/standard/gateway.networking.k8s.io_${each}.yaml`,
    ),
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    files: ['servicemonitors', 'prometheusrules'].map(
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
 * The files, all of them.
 * @throws Error when Go or a module cannot be had, or a module is not the one that is expected
 */
export async function upstreamCrds(): Promise<string[]> {
  const files: string[] = [];
  for (const { module, sum, files: within } of UPSTREAM) {
    const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module]);
    const { Dir, Sum } = downloaded.parse(JSON.parse(stdout));
    if (Sum !== sum) throw new Error(`${module} has the checksum ${Sum}, not ${sum}`);
    files.push(...within.map((file) => join(Dir, file)));
  }
  return files;
}
