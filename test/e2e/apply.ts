/**
 * Sends what `kubectl apply` and `kubectl delete` send, and reports refusals as they do, without starting kubectl: that
 * takes longer than the request. Only for test files. Tests of commands that are shown to users run kubectl itself.
 */
import type { KubeConfig } from '@kubernetes/client-node';
import { z } from 'zod';
import { waitFor } from '../../dev/processes/wait.ts';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { KubeTransport, type Method } from '../../src/operator/kube/kube-transport.ts';
import type { CommandResult } from '../harness.ts';

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const PLURALS = new Map<string, string>([
  ...allKinds.map(({ kind, plural }): [string, string] => [kind, plural]),
  ['Secret', 'secrets'],
  ['ConfigMap', 'configmaps'],
]);
const status = z.object({
  reason: z.string(),
  message: z.string(),
  details: z
    .object({
      kind: z.string().default(''),
      name: z.string().default(''),
      causes: z.array(z.object({ field: z.string().default(''), message: z.string().default('') })).default([]),
    })
    .default({ kind: '', name: '', causes: [] }),
});

/** An error response of the API server, as kubectl words it. */
function refusal(body: string): string {
  const { reason, message, details } = status.parse(JSON.parse(body));
  if (reason !== 'Invalid' || details.causes.length === 0) return `Error from server (${reason}): ${message}`;
  const causes = [...new Set(details.causes.map((cause) => `${cause.field}: ${cause.message}`))];
  const list = causes.length === 1 ? causes : causes.map((cause) => `\n* ${cause}`);
  return `The ${details.kind} "${details.name}" is invalid: ${list.join('')}`;
}

const DRY_RUN = '--dry-run=server';
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

interface Answer {
  code: number;
  /** The parsed body of a successful response. */
  object: Json | undefined;
  /** As kubectl shows it. */
  stderr: string;
}

/** A merge patch that removes what is no longer declared, by setting it to null. */
function removed(before: Json, after: Json): Json {
  const entries = Object.entries(before).flatMap(([key, value]): [string, unknown][] => {
    if (!(key in after)) return [[key, null]];
    const inner = after[key];
    return isObject(value) && isObject(inner) ? [[key, removed(value, inner)]] : [];
  });
  return Object.fromEntries(entries);
}

function merged(one: Json, other: Json): Json {
  const both = Object.entries(other).map(([key, value]) => {
    const mine = one[key];
    return [key, isObject(mine) && isObject(value) ? merged(mine, value) : value];
  });
  return { ...one, ...Object.fromEntries(both) };
}

const annotationsOf = (object: Json): Json => {
  const { annotations } = isObject(object.metadata) ? object.metadata : {};
  return isObject(annotations) ? annotations : {};
};

export class Applier {
  readonly #transport: KubeTransport;
  readonly #namespace: string;

  constructor(config: KubeConfig, namespace: string) {
    this.#transport = new KubeTransport(config, { userAgent: 'kubectl', timeoutMs: 30_000 });
    this.#namespace = namespace;
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /** Whether this class supports the arguments and knows the path of every object; otherwise, use kubectl. */
  static knows(manifest: unknown, args: readonly string[]): boolean {
    if (args.some((arg) => arg !== DRY_RUN)) return false;
    const items = itemsOf(manifest);
    return items.every(
      ({ kind, metadata }) => PLURALS.has(String(kind)) && isObject(metadata) && !('namespace' in metadata),
    );
  }

  /** Applies every object, even if an earlier one is refused. */
  async apply(manifest: unknown, args: readonly string[]): Promise<CommandResult> {
    let [code, stderr] = [0, ''];
    for (const item of itemsOf(manifest)) {
      const answer = await this.#applyOne(item, args.includes(DRY_RUN));
      if (answer.code >= 300) code = 1;
      stderr += answer.stderr;
    }
    return { code, stdout: '', stderr };
  }

  /** Deletes the objects and waits until they are gone. */
  async remove({ group, version, plural }: ResourceType, names: readonly string[]): Promise<CommandResult> {
    const kindPath = this.#pathOf(group ? `${group}/${version}` : version, plural);
    let [code, stderr] = [0, ''];
    for (const name of names) {
      const answer = await this.#send('DELETE', `${kindPath}/${name}`, new URLSearchParams());
      if (answer.code >= 300) code = 1;
      stderr += answer.stderr;
    }
    const isGone = async (name: string) =>
      (await this.#send('GET', `${kindPath}/${name}`, new URLSearchParams())).code === 404;
    if (code === 0) for (const name of names) await waitFor(`the deletion of ${kindPath}/${name}`, () => isGone(name));
    return { code, stdout: '', stderr };
  }

  async #applyOne(item: Json, isDryRun: boolean): Promise<Answer> {
    const declared: Json = JSON.parse(JSON.stringify(item));
    const metadata = isObject(declared.metadata) ? declared.metadata : {};
    const annotations = annotationsOf(declared);
    const lastApplied = `${JSON.stringify({ ...declared, metadata: { annotations: {}, ...metadata } })}\n`;
    const body = {
      ...declared,
      metadata: { ...metadata, annotations: { ...annotations, [LAST_APPLIED]: lastApplied } },
    };
    const query = new URLSearchParams({ fieldManager: 'kubectl-client-side-apply', fieldValidation: 'Strict' });
    if (isDryRun) query.set('dryRun', 'All');
    const collection = this.#pathOf(String(declared.apiVersion), PLURALS.get(String(declared.kind)) ?? '');
    const path = `${collection}/${metadata.name}`;
    const found = await this.#send('GET', path, new URLSearchParams());
    if (found.code === 404) return this.#send('POST', collection, query, body);
    if (found.object === undefined) return found;
    const before = annotationsOf(found.object)[LAST_APPLIED];
    const lost = typeof before === 'string' ? removed(JSON.parse(before), declared) : {};
    return this.#send('PATCH', path, query, merged(lost, body));
  }

  /** The path of a collection in the namespace. */
  #pathOf(apiVersion: string, plural: string): string {
    const root = apiVersion.includes('/') ? 'apis' : 'api';
    return `/${root}/${apiVersion}/namespaces/${this.#namespace}/${plural}`;
  }

  async #send(method: Method, path: string, query: URLSearchParams, body?: Json): Promise<Answer> {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const response = await this.#transport.call(method, path, { query, body, contentType });
    const { statusCode: code, headers, text } = response;
    const warnings = [headers.warning ?? []]
      .flat()
      .map((each) => `Warning: ${/"(.*)"/.exec(each)?.[1] ?? each}\n`)
      .join('');
    if (code < 300) return { code, object: JSON.parse(text), stderr: warnings };
    return { code, object: undefined, stderr: `${warnings}${refusal(text)}\n` };
  }
}

function itemsOf(manifest: unknown): readonly Json[] {
  if (!isObject(manifest)) return [];
  return manifest.kind === 'List' && Array.isArray(manifest.items) ? manifest.items : [manifest];
}
