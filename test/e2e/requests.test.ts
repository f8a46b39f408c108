/** The requests that the operator sends for one object, as docs/operator/requests.md promises them. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ANNOTATION, GROUP } from '../../src/operator/contract/names.ts';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { atEnd } from '../end-of-file.ts';
import { skipFor } from '../skip.ts';
import { CREDENTIALS, credential as credentialOf, type Manifest, manifest, ours, POLICIES } from './manifest.ts';
import { eventually, ROOT, startStack } from './stack.ts';

const IN_PODS = process.env.TEST_PODS ? 'not in Pods: the requests of an operator there cannot be seen' : undefined;

interface Counts {
  readonly writes: number;
  readonly reads: number;
  readonly api: number;
}

/** The rows of the page: what happens, by object, with its counts. */
function promised(): Map<string, Map<string, Counts>> {
  const page = readFileSync(join(ROOT, 'docs/operator/requests.md'), 'utf8');
  const rows = [...page.matchAll(/^\| (.*?) \| (.*?) \| (\d+) \| (\d+) \| (\d+) \|$/gm)];
  const shapes = new Map<string, Map<string, Counts>>();
  for (const [, shape = '', event = '', writes, reads, api] of rows) {
    const counts = { writes: Number(writes), reads: Number(reads), api: Number(api) };
    shapes.set(shape, (shapes.get(shape) ?? new Map()).set(event, counts));
  }
  return shapes;
}

/** https://undici.nodejs.org/#/docs/api/DiagnosticsChannel */
const CHANNEL = 'undici:request:create';
const Message = z.object({
  request: z.object({ method: z.string(), path: z.string(), headers: z.union([z.string(), z.array(z.string())]) }),
});
const sent: { method: string; path: string }[] = [];
function listen(message: unknown): void {
  const { method, path, headers } = Message.parse(message).request;
  // Not those of the client of the tests.
  if (/tunnel-operator(?!-client)/.test(String(headers))) sent.push({ method, path });
}
subscribe(CHANNEL, listen);
atEnd(async () => void unsubscribe(CHANNEL, listen));

/** Lists, watches, leader election and Events: what a process needs for all objects together. */
const isShared = ({ method, path }: (typeof sent)[number]) =>
  path.startsWith('/api')
    ? /[?&](?:limit|watch)=|\/leases|\/events$|\/namespaces\/kube-system$/.test(path)
    : method === 'GET' && !/_[\da-z]{26}(?!\/routes$)|\/idempotency_scopes\//.test(path);

const stack = await startStack({ prefix: 'requests', operators: 0 });

const sumOf = ({ writes, reads, api }: Counts) => writes + reads + api;

function counts(): Counts {
  const own = sent.filter((request) => !isShared(request));
  const kube = own.filter(({ path }) => path.startsWith('/api'));
  const reads = kube.filter(({ method }) => method === 'GET').length;
  return { writes: kube.length - reads, reads, api: own.length - kube.length };
}

/**
 * Runs `act` and counts the requests for objects until the operator has nothing left to do.
 * @param least so many requests are to come, even if a watch delays the last of them
 */
async function during(act: () => Promise<unknown>, least: number): Promise<Counts> {
  sent.length = 0;
  await act();
  let seen = -1;
  await eventually(async () => {
    const before = seen;
    seen = sent.length;
    const pending = [await stack.metric('workqueue_depth'), await stack.metric('workqueue_unfinished_work_seconds')];
    expect([...pending, seen]).toEqual([0, 0, before]);
    expect(sumOf(counts())).toBeGreaterThanOrEqual(least);
  });
  return counts();
}

type Story = Readonly<Record<string, () => Promise<unknown>>>;

const kindOf = (kind: string, plural: string) => {
  const type = ours(plural);
  return {
    type,
    async apply(spec: object, ...others: Manifest[]) {
      await stack.apply(...others, manifest(kind, 'a', spec));
      await stack.ready(type, 'a');
    },
    remove: () => stack.remove(type, 'a'),
  };
};
/** Waits until the member of the status is another one than before `act`. */
async function until(
  type: ResourceType,
  member: 'id' | 'sources' | 'issuedAt',
  act: () => Promise<unknown>,
): Promise<void> {
  const before = (await stack.see(type, 'a')).status[member];
  await act();
  await eventually(async () => expect((await stack.see(type, 'a')).status[member]).not.toEqual(before));
}

const backend = kindOf('HTTPResponseBackend', 'httpresponsebackends');
const policy = kindOf('IPPolicy', POLICIES.plural);
const credential = kindOf('TunnelCredential', CREDENTIALS.plural);
const destination = kindOf('EventDestination', 'eventdestinations');
const target = { webhook: { url: 'https://hooks.example.com/tunnels' } };
const edge = kindOf('HTTPSEdge', 'httpsedges');
const route = kindOf('HTTPSEdgeRoute', 'httpsedgeroutes');
const modules = kindOf('HTTPSEdgeRouteModules', 'httpsedgeroutemodules');
const page = (html: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'page' }, data: { html } });
const routeOf = (name: string) => ({ edgeRef: { name }, match: '/', matchType: 'path_prefix' });
const oidc = (scope: string) => ({
  routeRef: { name: 'a' },
  oidc: {
    issuer: 'https://id.example.com',
    clientId: { value: 'a' },
    clientSecret: { value: 'b' },
    scopes: ['openid', scope],
  },
});

/** What happens to one object of each shape, one thing after the other. */
const STORIES: Readonly<Record<string, Story>> = {
  'HTTPResponseBackend: plain': {
    created: () => backend.apply({ body: { value: 'x' } }),
    'spec edited': () => backend.apply({ body: { value: 'y' } }),
    'claimed, once after an upgrade': () => stack.annotate(backend.type, 'a', { [ANNOTATION.manager]: null }),
    deleted: backend.remove,
    async 'adopted and deleted'() {
      const { id } = await stack.client.httpResponseBackends.create({ body: 'x' });
      const spec = { body: { value: 'x' } };
      await stack.apply(manifest('HTTPResponseBackend', 'a', spec, { [ANNOTATION.adopt]: id }));
      await stack.ready(backend.type, 'a');
      await backend.remove();
    },
  },
  'HTTPResponseBackend: body from a ConfigMap': {
    created: () => backend.apply({ body: { configMapKeyRef: { name: 'page', key: 'html' } } }, page('x')),
    'source edited': () => until(backend.type, 'sources', () => stack.apply(page('y'))),
    deleted: backend.remove,
  },
  'IPPolicy: with rules': {
    created: () => policy.apply({ rules: [{ cidr: '10.0.0.0/8', action: 'allow' }] }),
    'spec edited': () => policy.apply({ rules: [{ cidr: '10.0.0.0/8', action: 'deny' }] }),
    deleted: policy.remove,
  },
  'TunnelCredential: with a Secret': {
    'created as the first in a minute': () => credential.apply({}),
    'created as another': () => stack.apply(credentialOf('b')).then(() => stack.ready(CREDENTIALS, 'b')),
    'spec edited': () => credential.apply({ description: 'x' }),
    rotated: () =>
      until(CREDENTIALS, 'id', () => stack.annotate(CREDENTIALS, 'a', { [`${GROUP}/rotate-requested-at`]: 'now' })),
    deleted: credential.remove,
  },
  'EventDestination: with a signing secret': {
    'created as the first in a minute': () => destination.apply({ target }),
    rotated: () =>
      until(destination.type, 'issuedAt', () =>
        stack.annotate(destination.type, 'a', { [ANNOTATION.rotateRequestedAt]: 'now' }),
      ),
    'Secret deleted': () =>
      until(destination.type, 'issuedAt', () => stack.run('delete', 'secret', 'a-signing-secret')),
    deleted: destination.remove,
  },
  'HTTPSEdgeRoute: nested': {
    created: () => route.apply(routeOf('a')),
    'spec edited': () => route.apply({ ...routeOf('a'), description: 'x' }),
    replaced: () => until(route.type, 'id', () => route.apply(routeOf('b'))),
  },
  'HTTPSEdgeRouteModules: attached': {
    created: () => modules.apply(oidc('email')),
    'spec edited': () => modules.apply(oidc('profile')),
    deleted: modules.remove,
  },
  'any, settled': {
    'operator restarted': () => stack.restart().then(() => untilCompared(1)),
    'resynced without a change': () => stack.restart(undefined, { resyncMs: 300 }).then(() => untilCompared(3)),
    async 'leader changed'() {
      const settings = { leaderElect: true, leaseMs: 6_000 };
      const first = await stack.restart(undefined, { ...settings, identity: 'first' });
      const taken = stack.makeOperator({ ...settings, identity: 'second' }).start();
      await stack.stopOperator(first);
      await taken;
      await untilCompared(1);
    },
  },
};

/** Waits until every kind was compared with the API so many times. */
async function untilCompared(times: number): Promise<void> {
  await eventually(async () => {
    for (const { kind } of allKinds)
      expect(await stack.metric('tunnel_operator_resyncs_total', { kind, result: 'success' })).toBeGreaterThanOrEqual(
        times,
      );
  });
}

describe('one object costs as many requests as the page says', skipFor(IN_PODS), async () => {
  if (IN_PODS === undefined) {
    await stack.operate();
    await edge.apply({}, manifest('HTTPSEdge', 'b'));
  }
  const rows = promised();

  test('for every shape', () => {
    expect([...rows.keys()]).toEqual(Object.keys(STORIES));
  });

  test.for(Object.entries(STORIES))('%s', async ([shape, story]) => {
    const counted = new Map<string, Counts>();
    const expected = rows.get(shape) ?? new Map<string, Counts>();
    for (const [event, act] of Object.entries(story)) {
      const promise = expected.get(event);
      counted.set(event, await during(act, promise ? sumOf(promise) : 0));
    }
    expect(counted).toEqual(expected);
  });
});
