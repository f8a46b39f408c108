/**
 * One control plane and one Postgres for a whole run of the tests, started when the first test file asks: a run of pure
 * tests alone starts nothing. Test files run in processes of their own and ask over HTTP on loopback (`harness.ts`).
 */
import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import type { TestProject } from 'vitest/node';
import { startControlPlane } from '../dev/control-plane/control-plane.ts';
import type { ControlPlane } from '../dev/control-plane/control-plane-handle.ts';
import { type Postgres, startPostgres } from '../dev/database/postgres.ts';
import { installCrdsIn } from './crds.ts';

/** What a test file is told about the shared control plane. */
export type ClusterInfo = Pick<
  ControlPlane,
  'server' | 'kubeconfig' | 'kubeconfigPath' | 'kubectlPath' | 'hasControllerManager' | 'external'
>;

/** What a test file is told about the shared server: the URL of a superuser. */
export interface PostgresInfo {
  readonly url: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** The base URL of the services of this run; its path is the secret that keeps other local users out. */
    servicesUrl: string;
  }
}

/** Vitest calls this once before all test files; what it returns, once after them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const log = (line: string) => process.stderr.write(`${line}\n`);
  // Workers inherit this folder: it has all temporary files of the run, and nothing else needs to remove any.
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-test-'));
  // If this user is root, PostgreSQL runs as another one.
  await chmod(folder, 0o711);
  process.env.TMPDIR = folder;
  let cluster: Promise<ControlPlane> | undefined;
  let crds: Promise<void> | undefined;
  let postgres: Promise<Postgres> | undefined;
  const namespaces: string[] = [];
  const secret = randomUUID();
  const startCluster = () => {
    cluster ??= startControlPlane({ log });
    return cluster;
  };
  const coreApi = async () => {
    const config = new KubeConfig();
    config.loadFromString((await startCluster()).kubeconfig);
    return config.makeApiClient(CoreV1Api);
  };
  const services = new Map<string, (name: string) => Promise<ClusterInfo | PostgresInfo | Record<string, never>>>([
    [
      `/${secret}/crds`,
      async () => {
        crds ??= startCluster().then(installCrdsIn);
        await crds;
        return {};
      },
    ],
    [
      `/${secret}/cluster`,
      async () => {
        const { server, kubeconfig, kubeconfigPath, kubectlPath, hasControllerManager, external } =
          await startCluster();
        return { server, kubeconfig, kubeconfigPath, kubectlPath, hasControllerManager, external };
      },
    ],
    [
      `/${secret}/namespace`,
      async (name) => {
        await (await coreApi()).createNamespace({ body: { metadata: { name } } });
        namespaces.push(name);
        return {};
      },
    ],
    [
      `/${secret}/postgres`,
      async () => {
        postgres ??= startPostgres({ log });
        return { url: (await postgres).url };
      },
    ],
  ]);

  const broker = createServer(async (request, response) => {
    const [service, name = ''] = (request.url ?? '').split('?');
    const serve = services.get(service ?? '');
    if (serve === undefined) return response.writeHead(404).end();
    try {
      const info = await serve(name);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(info));
    } catch (error) {
      response.writeHead(503).end(error instanceof Error ? error.message : String(error));
    }
  });
  await new Promise<void>((resolve) => broker.listen(0, '127.0.0.1', resolve));
  const { port } = broker.address() as AddressInfo;
  project.provide('servicesUrl', `http://127.0.0.1:${port}/${secret}`);

  return async () => {
    broker.closeAllConnections();
    broker.close();
    if (namespaces.length > 0) {
      const api = await coreApi();
      await Promise.allSettled(namespaces.map((name) => api.deleteNamespace({ name })));
    }
    const started = await Promise.allSettled([cluster, postgres]);
    await Promise.all(started.map((service) => (service.status === 'fulfilled' ? service.value?.stop() : undefined)));
    await rm(folder, { recursive: true, force: true });
  };
}
