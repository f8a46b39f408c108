/** The API says once that a resource does not exist, as a replica that is behind does: nothing is left over in the end. */
import { afterEach, beforeAll, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { ERROR_STATUS } from '../../src/resources/definition/errors.ts';
import { untilSettled } from './inspect.ts';
import { type Declared, openStage, type Stage } from './stage.ts';

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

it.each<Declared>([
  { kind: 'TunnelCredential', name: 'agent', spec: { description: 'an agent', rotation: { overlap: '1h' } } },
  { kind: 'IPPolicy', name: 'policy', spec: { rules: [{ cidr: '10.0.0.0/8', action: 'allow' }] } },
])('$kind', async (declared) => {
  await stage.apply(declared);
  await untilSettled(stage);
  const id = (await stage.find(declared))?.metadata.annotations?.[ANNOTATION.externalId] ?? '';
  let denied = 0;
  stage.proxy().intercept(async ({ method, path }, forward) => {
    if (denied > 0 || method !== 'GET' || !path.endsWith(`/${id}`)) return forward();
    denied++;
    return absent;
  });
  await stage.annotate(declared, { [ANNOTATION.reconcileRequestedAt]: 'now' });
  await waitFor('the wrong answer', () => denied > 0);
  await untilSettled(stage);
  expect((await stage.find(declared))?.metadata.annotations?.[ANNOTATION.externalId]).not.toBe(id);
});
