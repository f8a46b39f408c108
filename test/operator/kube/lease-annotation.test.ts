import { expect, test } from 'vitest';
import { LeaseAnnotation } from '../../../src/operator/kube/lease-annotation.ts';
import { object } from '../objects.ts';
import { type Answer, answering, cut, json, refusal } from './answering.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/ns/leases';
const lease = object({
  name: 'lease',
  kind: 'Lease',
  spec: { holderIdentity: 'them' },
  metadata: { annotations: { other: 'kept' }, labels: { also: 'kept' } },
});
const annotated = { ...lease, metadata: { ...lease.metadata, annotations: { other: 'kept', owner: 'us' } } };
const made = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'lease', namespace: 'ns', annotations: { owner: 'us' } },
};

async function setUp(...answers: Answer[]) {
  const server = await answering(...answers);
  const memory = new LeaseAnnotation(server.connect(), { namespace: 'ns', name: 'lease', annotation: 'owner' });
  return { memory, asked: () => server.asked.map(({ line, body }) => [line, body && JSON.parse(body)]) };
}

test.each<[string, Answer, string | undefined]>([
  ['exists', json(annotated), 'us'],
  ['does not exist', json(lease), undefined],
  ['has no Lease', refusal(404), undefined],
])('reads an annotation that %s', async (_, answer, expected) => {
  const { memory, asked } = await setUp(answer);
  expect(await memory.read()).toBe(expected);
  expect([memory.name, asked()]).toEqual(['owner', [[`GET ${LEASES}/lease`, '']]]);
});

const get = [`GET ${LEASES}/lease`, ''];
const put = [`PUT ${LEASES}/lease`, annotated];
const post = [`POST ${LEASES}`, made];

test.each<[string, Answer[], unknown[]]>([
  ['keeps everything else in the Lease', [json(lease), json(annotated)], [get, put]],
  ['creates a Lease without a holder', [refusal(404), json(annotated)], [get, post]],
  ['starts again if the holder renewed', [json(lease), refusal(409), json(lease), json(lease)], [get, put, get, put]],
  [
    'starts again if the Lease was deleted',
    [json(lease), refusal(404), refusal(404), json(lease)],
    [get, put, get, post],
  ],
])('a write %s', async (_, answers, expected) => {
  const { memory, asked } = await setUp(...answers);
  await memory.write('us');
  expect(asked()).toEqual(expected);
});

test.each<[string, Answer[], object]>([
  ['reading is forbidden', [refusal(403)], { code: 403 }],
  ['writing is forbidden', [json(lease), refusal(403)], { code: 403 }],
  ['the namespace does not exist', [refusal(404), refusal(404)], { code: 404 }],
  [
    'it loses five races in a row',
    Array<Answer[]>(5)
      .fill([json(lease), refusal(409)])
      .flat(),
    { code: 409 },
  ],
  ['there is no answer', [json(lease), cut()], { name: 'KubeUnreachableError' }],
])('a write fails if %s', async (_, answers, expected) => {
  const { memory, asked } = await setUp(...answers);
  await expect(memory.write('us')).rejects.toMatchObject(expected);
  expect(asked().length).toBe(answers.length);
});
