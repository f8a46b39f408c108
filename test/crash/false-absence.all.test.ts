/** Something is said not to exist, by a replica that is behind, or has gone just now: nothing is left over in the end. */
import { afterEach, beforeAll, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { ERROR_STATUS } from '../../src/resources/definition/errors.ts';
import type { Declared } from './declared.ts';
import { untilSettled } from './inspect.ts';
import type { Call } from './proxy.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await (await stage.startOperator()).untilReconciling();
});

afterEach(async () => {
  stage.proxy().intercept();
  await stage.sweep();
});

const absent = {
  status: ERROR_STATUS.NOT_FOUND,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(
    JSON.stringify({ error_code: 'NOT_FOUND', status_code: ERROR_STATUS.NOT_FOUND, msg: 'not found', details: {} }),
  ),
};

const empty = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify({ next_sequence: 1, resources: [] })),
};
const isScope = ({ method, path }: Call) => method === 'GET' && path.startsWith('/idempotency_scopes/');
const idOf = async (declared: Declared) =>
  (await stage.find(declared))?.metadata.annotations?.[ANNOTATION.externalId] ?? '';

const objects: Declared[] = [
  { kind: 'TunnelCredential', name: 'agent', spec: { description: 'an agent', rotation: { overlap: '1h' } } },
  { kind: 'IPPolicy', name: 'policy', spec: { rules: [{ cidr: '10.0.0.0/8', action: 'allow' }] } },
];

it.each(objects)('$kind that is absent once, also from its scope, is replaced', async (declared) => {
  await stage.apply(declared);
  await untilSettled(stage);
  const id = await idOf(declared);
  let denied = 0;
  stage.proxy().intercept(async (call, forward) => {
    if (denied > 0 && isScope(call) && denied++ === 1) return empty;
    if (denied > 0 || call.method !== 'GET' || !call.path.endsWith(`/${id}`)) return forward();
    denied++;
    return absent;
  });
  await stage.annotate(declared, { [ANNOTATION.reconcileRequestedAt]: 'now' });
  await waitFor('the wrong answer', () => denied > 0);
  await untilSettled(stage);
  expect(await idOf(declared)).not.toBe(id);
});

it.each(objects)('$kind that is absent for long, but not from its scope, is left alone', async (declared) => {
  await stage.apply(declared);
  await untilSettled(stage);
  const id = await idOf(declared);
  stage.proxy().forget();
  stage.proxy().intercept(async ({ method, path }, forward) => {
    return method === 'GET' && path.includes(`/${id}`) ? absent : forward();
  });
  await stage.annotate(declared, { [ANNOTATION.reconcileRequestedAt]: 'now' });
  await waitFor('the condition', async () =>
    readStatus((await stage.find(declared)) ?? { metadata: never() }).conditions?.some(
      ({ reason, message }) =>
        reason === 'ApiUnavailable' && message.includes(`says both that ${id} exists and that it does not`),
    ),
  );
  const writes = stage.proxy().calls.filter(({ target, method }) => target === 'api' && method !== 'GET');
  expect(writes).toEqual([]);
  stage.proxy().intercept();
  await untilSettled(stage);
  expect(await idOf(declared)).toBe(id);
});

it('a source that is deleted between the look at it and its being read is waited for', async () => {
  const page = (html: string): Declared => ({
    kind: 'HTTPResponseBackend',
    name: 'page',
    spec: { body: { secretKeyRef: { name: 'page', key: 'html' } } },
    objects: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'page' }, stringData: { html } }],
    body: {},
    remote: { body: html },
  });
  await stage.apply(page('one'));
  await untilSettled(stage);
  let reads = 0;
  stage.proxy().intercept(async ({ target, method, path }, forward) => {
    const isRead = target === 'kube' && method === 'GET' && path.endsWith('/secrets/page');
    if (isRead && reads++ === 0) await stage.deleteSecret('page');
    return forward();
  });
  await stage.apply(page('two'));
  await waitFor('the condition', async () => JSON.stringify(await stage.find(page('two'))).includes('SourceNotFound'));
  await stage.apply(page('three'));
  await untilSettled(stage);
});

function never(): never {
  throw new Error('there is no object');
}
