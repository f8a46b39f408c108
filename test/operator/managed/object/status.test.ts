import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { REASON } from '../../../../src/operator/contract/reasons.ts';
import { condition as kubeCondition } from '../../../../src/operator/kube/conditions.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { available, UP_TO_DATE } from '../../../../src/operator/managed/object/findings.ts';
import {
  failureFindings,
  showFailure,
  showPaused,
  writeStatus,
} from '../../../../src/operator/managed/object/status.ts';
import { condition, object } from '../../objects.ts';
import { managing } from '../managed-under-test.ts';
import { modulesOf } from '../things.ts';

const failure = { reason: REASON.apiUnavailable, message: 'no answer' };
const ready = object({ status: { conditions: [condition('Ready', 'True')] } });
const unready = object({ status: { conditions: [condition('Ready', 'False')] } });

test.each([
  ['both conditions if only a change can fix it', ready, false, ['Ready', 'Synced']],
  ['Synced alone if it is transient', ready, true, ['Synced']],
  ['both if it is transient and the object was not Ready', unready, true, ['Ready', 'Synced']],
  ['both if it is transient and the object was never Ready', object(), true, ['Ready', 'Synced']],
])('a failure shows in %s', (_, of, keepReady, expected) => {
  const findings = failureFindings(of, { ...failure, keepReady });
  const failed = Object.entries(findings).filter(([, finding]) => finding?.status === 'False');
  expect(failed.map(([type]) => type)).toEqual(expected);
  for (const type of expected) expect(findings[type]).toEqual({ status: 'False', ...failure });
  const moving = expected.includes('Ready') ? (keepReady ? 'Reconciling' : 'Stalled') : undefined;
  const [shown] = Object.entries(findings).find(([, finding]) => finding?.status === 'True') ?? [];
  expect(shown).toBe(moving);
});

const shownStatus = z.looseObject({ conditions: z.array(kubeCondition) });
const statusOf = ({ status }: KubeObject) => shownStatus.parse(status);
const conditionOf = (of: KubeObject, type: string) => statusOf(of).conditions.find((each) => each.type === type);

const spec = { deletionPolicy: 'Delete', managementPolicy: 'Manage' } as const;
const remote = { id: 'ipp_1', uri: 'https://api.test/ip_policies/ipp_1' };
const current = { remote, ready: available(remote), synced: UP_TO_DATE };
const created = { externalId: 'ipp_1', createGeneration: '2' };

describe('the status after a reconcile', () => {
  test('shows the resource, its identity, and what the kind says about it', async () => {
    const describing = {
      describe: () => ({ hostname: 'a.test' }),
      conditions: () => ({ Extra: { status: 'True' as const, reason: REASON.available, message: 'm' } }),
    };
    const of = object({ metadata: { generation: 3 } }, { ...created, rotateHandledAt: 't' });
    const { managed, stored, events } = await managing(of, { kind: describing });
    await writeStatus(managed, spec, current);
    expect((await stored()).status).toEqual({
      ...remote,
      createGeneration: 2,
      hostname: 'a.test',
      lastHandledRotateAt: 't',
      observedGeneration: 3,
      conditions: expect.any(Array),
    });
    const { conditions } = statusOf(await stored());
    expect(conditions.map(({ type }) => type)).toEqual(['Ready', 'Synced', 'Extra']);
    for (const each of conditions) expect(each).toMatchObject({ status: 'True', observedGeneration: 3 });
    expect(managed.object).toEqual(await stored());
    expect(await events()).toEqual([]);
  });

  test('shows the inputs of the spec, if any', async () => {
    const reference = { field: 'spec.ref', id: 'ipp_9' };
    const { managed, stored } = await managing(object({}, created));
    const source = { field: 'spec.a', kind: 'Secret' as const, name: 'app', resourceVersion: '7', digest: 'd' };
    managed.inputs = { sources: [], references: [reference] };
    await writeStatus(managed, spec, current);
    expect(statusOf(await stored())).toMatchObject({ references: [reference] });
    expect((await stored()).status).not.toHaveProperty('sources');
    managed.inputs = { sources: [source], references: [reference] };
    await writeStatus(managed, spec, current);
    expect(statusOf(await stored())).toMatchObject({ sources: [source], references: [reference] });
    expect(conditionOf(await stored(), 'ReferencesResolved')?.status).toBe('True');
    managed.inputs = undefined;
    await writeStatus(managed, spec, current);
    expect(conditionOf(await stored(), 'ReferencesResolved')).toBeUndefined();
    expect((await stored()).status).not.toHaveProperty('references');
  });

  test.each<[string, object, Parameters<typeof object>[1], object, object?]>([
    ['the id it has adopted', { adopted: 'ipp_1' }, { externalId: 'ipp_1', adopt: 'ipp_1' }, {}],
    ['the id it adopted before', { adopted: 'ipp_0' }, created, { adopted: 'ipp_0' }],
    ['the generation, but no adoption, if created', { createGeneration: 2, adopted: undefined }, created, {}],
    ['no generation of modules it has not recorded', { createGeneration: undefined }, created, {}, modulesOf('x')],
  ])('shows %s', async (_, expected, annotations, status, kind = {}) => {
    const { managed, stored } = await managing(object({ status }, annotations), { kind });
    await writeStatus(managed, spec, { ...current, remote: { ...remote, id: 'owner' in kind ? 'x' : 'ipp_1' } });
    for (const [name, value] of Object.entries(expected)) expect(statusOf(await stored())[name]).toBe(value);
  });

  test('reports once that a resource cannot do what the spec asks for', async () => {
    const { managed, events } = await managing(object({}, created));
    const unfit = { status: 'False', reason: REASON.rejected, message: 'spec.size: too large' } as const;
    for (const _ of ['once', 'again']) {
      await writeStatus(managed, spec, { ...current, ready: unfit });
      expect(await events()).toEqual([{ type: 'Warning', reason: 'Rejected', message: 'spec.size: too large' }]);
    }
  });

  test('shows that the annotation adopt came too late, and reports it once', async () => {
    const { managed, stored, events } = await managing(object({}, { ...created, adopt: 'ipp_9' }));
    const told = expect.stringContaining('to adopt ipp_9');
    for (const _ of ['once', 'again']) {
      await writeStatus(managed, spec, current);
      expect(conditionOf(await stored(), 'Ready')?.message).toEqual(told);
      expect(await events()).toEqual([{ type: 'Warning', reason: 'AdoptionIgnored', message: told }]);
    }
  });
});

test.each([
  ['nothing', [], /to resume$/],
  ['two resources', ['ipp_0', 'ipp_9'], /to resume; superseded, and not deleted while paused: ipp_0, ipp_9$/],
])('a paused object that has superseded %s says so', async (_, ids, message) => {
  const retiring = JSON.stringify(ids.map((id) => ({ id, generation: 1, after: '2026-11-21T10:00:00Z' })));
  const before = { conditions: [condition('Ready', 'False'), { ...condition('Ready', 'True'), type: 'Stalled' }] };
  const of = object({ status: before }, { ...created, retiring, paused: 'true' });
  const { managed, stored } = await managing(of);
  const outcome = await showPaused(managed);
  const shown = { reason: 'Paused', message: expect.stringMatching(message) };
  expect(conditionOf(await stored(), 'Ready')).toMatchObject({ status: 'Unknown', ...shown });
  expect(conditionOf(await stored(), 'Synced')).toMatchObject({ status: 'False', ...shown });
  expect(conditionOf(await stored(), 'Stalled')).toBeUndefined();
  expect(outcome).toEqual({ object: await stored() });
});

describe('a failure', () => {
  const of = object({ metadata: { generation: 2 }, status: { observedGeneration: 1 } });

  test.each([
    ['is about this generation if only a change can fix it', false, 2],
    ['says nothing about this generation if it is transient', true, 1],
  ])('%s', async (_, keepReady, expected) => {
    const { managed, stored, events } = await managing(of);
    const shown = await showFailure(managed, { ...failure, keepReady });
    expect(shown).toEqual(await stored());
    expect(statusOf(shown)).toMatchObject({ observedGeneration: expected });
    expect(conditionOf(shown, 'Synced')).toMatchObject(failure);
    expect(await events()).toEqual([{ type: 'Warning', ...failure }]);
  });

  test('leaves kubectl get the lists of the spec', async () => {
    const lists = { in: 'spec', member: 'hostports' } as const;
    const printerColumns = [{ name: 'Hostports', type: 'string', jsonPath: '.x', description: '', lists } as const];
    const { managed } = await managing(object({ spec: { hostports: ['a.test:443'] } }), { kind: { printerColumns } });
    const shown = await showFailure(managed, { ...failure, keepReady: true });
    expect(statusOf(shown)).toMatchObject({ columns: { hostports: 'a.test:443' } });
  });

  test('that is already shown is not reported again', async () => {
    const first = await managing(of);
    const shown = await showFailure(first.managed, { ...failure, keepReady: false });
    const { managed, events, cluster } = await managing(shown);
    const { object: again } = managed;
    expect(await showFailure(managed, { ...failure, keepReady: false })).toBe(again);
    expect([await events(), cluster.writes()]).toEqual([[], []]);
  });
});
