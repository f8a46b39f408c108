/** Deletions that are held up, by the annotation paused or by a foreign finalizer. Only for test files. */
import { expect } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { eventually, type Stack } from './stack.ts';

/** A finalizer that does not belong to the operator. */
export const HOLD = 'example.com/hold';

export function deletionsOf(stack: Stack) {
  const askToDelete = async (type: ResourceType, ...names: string[]) =>
    expect(await stack.run('delete', type.plural, ...names, '--wait=false')).toMatchObject({ code: 0 });
  const gone = (type: ResourceType, name: string) =>
    eventually(async () => expect(await stack.find(type, name)).toBeUndefined());
  const pause = async (type: ResourceType, ...names: string[]) => {
    for (const name of names) await stack.annotate(type, name, { [ANNOTATION.paused]: 'true' });
    for (const name of names) await stack.reason(type, name, 'Synced', 'Paused');
  };
  const resume = (type: ResourceType, name: string) => stack.annotate(type, name, { [ANNOTATION.paused]: null });
  const heldUpOnly = (type: ResourceType, name: string) =>
    eventually(async () => expect((await stack.see(type, name)).object.metadata.finalizers).toEqual([HOLD]));
  const letGo = async (type: ResourceType, name: string) => {
    await stack.kube.patch(type, name, { metadata: { finalizers: null } }, stack.namespace);
    await gone(type, name);
  };

  return { askToDelete, gone, pause, resume, heldUpOnly, letGo };
}
