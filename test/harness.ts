/**
 * The environment of a test file: the shared control plane and Postgres, and its own namespace and database in them.
 * Everything made here is removed at the end of the file. Only for test files.
 */
import { randomBytes } from 'node:crypto';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import pg from 'pg';
import { inject } from 'vitest';
import { z } from 'zod';
import { createDatabase, dropDatabase, ensureTemplate } from '../dev/database/databases.ts';
import { atEnd } from './end-of-file.ts';
import type { ClusterInfo, PostgresInfo } from './global-setup.ts';
import { type CommandResult, kubectlOn } from './kubectl.ts';

export type { CommandResult };

const ClusterAnswer = z.object({
  server: z.string(),
  kubeconfig: z.string(),
  kubeconfigPath: z.string(),
  kubectlPath: z.string(),
  hasControllerManager: z.boolean(),
  external: z.boolean(),
}) satisfies z.ZodType<ClusterInfo>;
const PostgresAnswer = z.object({ url: z.string() }) satisfies z.ZodType<PostgresInfo>;

let clusterAnswer: Promise<ClusterInfo> | undefined;
let postgresAnswer: Promise<PostgresInfo> | undefined;

/**
 * The shared control plane; the first call of a run starts it. A test that kills or pauses an API server starts its own
 * with `startControlPlane`.
 * @throws Error when it cannot be started, with the reason.
 */
export function cluster(): Promise<ClusterInfo> {
  clusterAnswer ??= ask('cluster', ClusterAnswer);
  return clusterAnswer;
}

/** Our CustomResourceDefinitions, in the shared control plane: installed once in a run. */
export async function installCrds(): Promise<void> {
  await ask('crds', z.object({}));
}

/** A client configuration for the shared control plane, as a member of `system:masters`. */
export async function kubeconfig(): Promise<KubeConfig> {
  const config = new KubeConfig();
  config.loadFromString((await cluster()).kubeconfig);
  return config;
}

/** The shared Postgres; the first call of a run starts it. A test that crashes a server starts its own with `startPostgres`. */
export function postgres(): Promise<PostgresInfo> {
  postgresAnswer ??= ask('postgres', PostgresAnswer);
  return postgresAnswer;
}

/** Creates a namespace with a name that starts with `prefix`, and returns the name. */
export async function createNamespace(prefix = 'test'): Promise<string> {
  const api = (await kubeconfig()).makeApiClient(CoreV1Api);
  const name = unique(prefix, '-');
  await api.createNamespace({ body: { metadata: { name } } });
  // Some tests delete it themselves.
  atEnd(() => api.deleteNamespace({ name }).catch(() => undefined));
  return name;
}

/** Creates a namespace for all test files of a worker; deleted at the end of the run. */
export async function createNamespaceOfRun(prefix: string): Promise<string> {
  const name = unique(prefix, '-');
  await ask(`namespace?${name}`, z.object({}));
  return name;
}

interface Template {
  /** The same name in all test files means the same template; change it with the contents of `prepare`. */
  readonly name: string;
  /** Called once in a run, with the URL of the empty database: applies migrations, closes its connections. */
  readonly prepare: (url: string) => Promise<void>;
}

/** Creates a database, empty or cloned from a template that is prepared on first use; returns its URL. */
export async function createTestDatabase(template?: Template): Promise<string> {
  const admin = (await postgres()).url;
  const name = unique('test', '_');
  atEnd(() => dropDatabase(admin, name));
  if (template === undefined) return createDatabase(admin, name);
  await ensureTemplate(admin, template.name, template.prepare);
  return createDatabase(admin, name, { template: template.name });
}

/** Runs kubectl against the shared control plane. Does not throw on failure: look at `code`. */
export const kubectl = async (...args: KubectlArguments): Promise<CommandResult> => kubectlOn(await cluster(), ...args);

type KubectlArguments = Parameters<typeof kubectlOn> extends [unknown, ...infer Rest] ? Rest : never;

function unique(prefix: string, separator: string): string {
  return `${prefix}${separator}${randomBytes(5).toString('hex')}`;
}

async function ask<T>(service: string, schema: z.ZodType<T>): Promise<T> {
  const response = await fetch(`${inject('servicesUrl')}/${service}`);
  if (!response.ok) throw new Error(`the ${service} of this run could not be started: ${await response.text()}`);
  return schema.parse(await response.json());
}

/** A pool of connections to a test database. */
export function testPool(connectionString: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString, max });
  // end() resolves before the connections are closed, and dropping the database terminates them.
  pool.on('error', () => undefined);
  return pool;
}
