/** Controllers whose kinds refer to each other; with a real API server and management API. */
import { expect, onTestFinished, test } from 'vitest';
import { ANNOTATION } from '../../../src/operator/contract/names.ts';
import type { Inputs } from '../../../src/operator/managed/knowledge/inputs.ts';
import { eventually, type Manifest, manifest, ours, policy, startStack } from '../../e2e/stack.ts';
import { noInputs } from '../inputs.ts';
import { control } from './controlled.ts';

const stack = await startStack({ operators: 0, prefix: 'together' });
const { client } = stack;
const EDGES = ours('httpsedges');
const ROUTES = ours('httpsedgeroutes');
const MODULES = ours('httpsedgeroutemodules');
const BACKENDS = ours('httpresponsebackends');
const BOTS = ours('botusers');
const KEYS = ours('apikeys');
const OIDC = { issuer: 'https://accounts.example.com', clientId: { value: 'portal' }, clientSecret: { value: 's1' } };

const object = (kind: string, name: string, spec: object = {}) => manifest({ name: kind }, name, spec);
const route = (name: string): Manifest =>
  object('HTTPSEdgeRoute', name, {
    edgeRef: { name },
    match: '/',
    matchType: 'path_prefix',
    backendRef: { kind: 'HTTPResponseBackend', name },
  });

async function started(kinds: readonly string[], inputs: Inputs) {
  const controllers = await Promise.all(kinds.map((kind) => control(stack, kind, { inputs })));
  for (const { controller } of controllers) controller.start();
}

/** Removes the objects while their controllers still work, those first that refer to others. */
const clearedAtEnd = (name: string) =>
  onTestFinished(async () => {
    for (const type of [MODULES, ROUTES, BACKENDS, EDGES, KEYS, BOTS])
      await stack.run('delete', type.plural, name, '--ignore-not-found');
  });

const readyMessage = async (name: string) => (await stack.see(ROUTES, name)).ready?.message;

test('what refers to a kind that is not listed yet says so, and goes on once that is', async () => {
  const inputs = noInputs();
  const edges = await control(stack, 'HTTPSEdge', { inputs, isFilled: false });
  await started(['HTTPSEdgeRoute', 'HTTPResponseBackend'], inputs);
  clearedAtEnd('late');
  await stack.apply(
    object('HTTPSEdge', 'late'),
    object('HTTPResponseBackend', 'late', { body: { value: 'x' } }),
    route('late'),
  );
  await eventually(async () => {
    expect(await readyMessage('late')).toMatch(/HTTPSEdge \S+\/late is not known yet: not listed yet$/);
  });
  await edges.fill();
  edges.controller.startLate();
  const { status } = await stack.ready(ROUTES, 'late');
  expect(String(status.id)).toContain(String((await stack.ready(EDGES, 'late')).status.id));
});

test('what refers to a kind that cannot be listed says why', async () => {
  const inputs = noInputs();
  const edges = await control(stack, 'HTTPSEdge', { inputs, plural: 'nothings' });
  await started(['HTTPSEdgeRoute'], inputs);
  clearedAtEnd('blind');
  await stack.apply(route('blind'));
  const obstacle = edges.controller.cache.obstacle()?.message ?? 'none';
  await eventually(async () => expect(await readyMessage('blind')).toContain(`is not known yet: ${obstacle}`));
});

test('a route serves once the modules are set that are declared for it', async () => {
  const inputs = noInputs();
  const kinds = ['HTTPSEdge', 'HTTPSEdgeRoute', 'HTTPResponseBackend'];
  await started(kinds, inputs);
  const modules = await control(stack, 'HTTPSEdgeRouteModules', { inputs });
  clearedAtEnd('guarded');
  await stack.apply(
    object('HTTPSEdgeRouteModules', 'guarded', { routeRef: { name: 'guarded' }, oidc: OIDC }),
    object('HTTPSEdge', 'guarded'),
    object('HTTPResponseBackend', 'guarded', { body: { value: 'inside' } }),
    route('guarded'),
  );
  const { status } = await stack.reason(ROUTES, 'guarded', 'Ready', 'WaitingForModules');
  const [edge = '', id = ''] = String(status.id).split('/');
  expect((await client.httpsEdgeRoutes(edge).get(id)).backend).toBeNull();
  modules.controller.start();
  await stack.ready(ROUTES, 'guarded');
  expect(await client.httpsEdgeRoutes(edge).get(id)).toMatchObject({ backend: expect.anything(), modules: ['oidc'] });
  expect((await stack.see(MODULES, 'guarded')).status.id).toBe(`${edge}/${id}`);
});

test('what is deleted says who refers to it, and whether that could refer to something else', async () => {
  const inputs = noInputs();
  await started(['HTTPSEdge', 'HTTPSEdgeRoute', 'HTTPResponseBackend', 'BotUser', 'APIKey'], inputs);
  clearedAtEnd('held');
  await stack.apply(
    object('HTTPSEdge', 'held'),
    object('HTTPResponseBackend', 'held', { body: { value: 'x' } }),
    object('BotUser', 'held', { name: 'a bot' }),
    object('APIKey', 'held', { ownerRef: { name: 'held' }, secret: {} }),
    route('held'),
  );
  await Promise.all([stack.ready(ROUTES, 'held'), stack.ready(KEYS, 'held')]);
  const deleted = `${BACKENDS.plural},${BOTS.plural}`;
  await stack.run('delete', deleted, 'held', '--wait=false');
  const messageOf = async (type: typeof BOTS) => (await stack.see(type, 'held')).ready?.message;
  await eventually(async () => {
    expect(await messageOf(BACKENDS)).toMatch(
      /^HTTPSEdgeRoute .*: delete what refers to it, or let that refer to another$/,
    );
    expect(await messageOf(BOTS)).toMatch(/^APIKey .*: delete what refers to it$/);
  });
});

test('what the others may ask of a kind', async () => {
  const inputs = noInputs();
  await control(stack, 'HTTPSEdgeRouteModules', { inputs });
  await control(stack, 'IPPolicy', { inputs, isFilled: false });
  const [modules, policies] = [inputs.peer('HTTPSEdgeRouteModules'), inputs.peer('IPPolicy')];
  expect([modules?.ownerKind, policies?.ownerKind]).toEqual(['HTTPSEdgeRoute', undefined]);
  expect([modules?.gap?.(), policies?.gap?.()]).toEqual([undefined, 'not listed yet']);
  const { id } = await client.ipPolicies.create({});
  await stack.apply(policy('asked', {}, { [ANNOTATION.adopt]: id }));
  const key = `${stack.namespace}/asked`;
  expect(policies?.store.get(key)).toBeUndefined();
  await policies?.catchUp?.(stack.namespace);
  expect(policies?.store.get(key)?.metadata.name).toBe('asked');
  expect(policies?.concernedWith?.(id)).toEqual([key]);
});
