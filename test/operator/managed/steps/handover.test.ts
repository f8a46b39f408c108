import { expect, test } from 'vitest';
import { KubeError } from '../../../../src/operator/kube/kube-error.ts';
import { Blocked } from '../../../../src/operator/managed/declaration/external.ts';
import { handOver } from '../../../../src/operator/managed/steps/handover.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { Things, tokens } from '../things.ts';

const quota = new KubeError(403, 'Forbidden', 'exceeded quota');
const terminating = new KubeError(403, 'Forbidden', 'x', undefined, ['NamespaceTerminating']);

test.each([
  ['deleted if a quota refuses its Secret', quota, [], []],
  ['deleted if its Secret belongs to something else', new Blocked('SecretConflict', 'taken'), [], []],
  ['kept if an earlier attempt has stored its token', quota, ['thg_1'], ['thg_1']],
  ['kept while Kubernetes fails, since its token can be had again', new KubeError(500, 'x', 'x'), [], ['thg_1']],
  ['left to the deletion of its object in a namespace that goes', terminating, [], ['thg_1']],
])('a resource whose token cannot be delivered is %s', async (_, error, held, expected) => {
  const things = new Things('thg_1');
  const kind = tokens(held, { deliver: () => Promise.reject(error) });
  const { managed, spec } = await manage(object({}, { createGeneration: '1' }), { things, kind });
  await expect(handOver(managed, spec, { id: 'thg_1', uri: 'u' }, 1)).rejects.toBe(error);
  expect(things.ids).toEqual(expected);
});
