/** Manual edits of annotations that belong to the operator; test/crash/wipes.test.ts makes random ones of one object. */
import { describe, expect, test } from 'vitest';
import { GROUP } from '../../src/operator/contract/names.ts';
import { credentialsOf } from './credentials.ts';
import { CREDENTIALS } from './manifest.ts';
import { eventually, startStack } from './stack.ts';
import { patchStatus } from './status.ts';

const stack = await startStack({ prefix: 'tampering' });
const { tokenOf, annotate, made, idsOf } = credentialsOf(stack);

describe("an external-id that is changed to a sibling's", () => {
  test.each([
    ['while the operator runs', false],
    ['while the operator is down', true],
  ])('%s leaves each with its own credential', async (_, isDown) => {
    const [name, other] = [`edited-${isDown}`, `sibling-${isDown}`];
    const [own, sibling] = [await made(name), await made(other)];
    const edit = () => annotate(name, { 'external-id': sibling.id });
    await (isDown ? stack.restart(edit) : edit());
    await eventually(async () => {
      const { object, status } = await stack.ready(CREDENTIALS, name);
      expect(object.metadata.annotations).toMatchObject({ [`${GROUP}/external-id`]: own.id });
      expect(status.id).toBe(own.id);
    });
    await stack.ready(CREDENTIALS, other);
    for (const { token } of [own, sibling]) expect(await stack.accepts(token)).toBe(true);
    await eventually(async () => {
      const message = `${sibling.id} is not this object's resource; restored ${own.id}`;
      expect(await stack.events(name)).toContainEqual({ type: 'Warning', reason: 'IdentityRestored', message });
    });
    await stack.remove(CREDENTIALS, name);
    expect(await idsOf(name)).toEqual([]);
    expect(await stack.accepts(sibling.token)).toBe(true);
  });
});

describe("a sibling's id that is added to the annotation retiring", () => {
  const listed = (id: string) => ({
    retiring: JSON.stringify([{ id, generation: 1, after: '2026-01-01T00:00:00.000Z' }]),
  });

  test.each([
    ['with the status intact', false],
    ['with the status lost', true],
  ])('%s is not deleted, not even with the object', async (what, isLost) => {
    const suffix = what.replaceAll(/\W+/g, '-');
    const [name, other] = [`own-${suffix}`, `sibling-${suffix}`];
    const own = await made(name);
    const sibling = await made(other);
    await stack.restart(async () => {
      await annotate(name, listed(sibling.id));
      if (isLost) await patchStatus(stack, 'tcred', name, { id: null });
    });
    await eventually(async () => {
      const { object } = await stack.ready(CREDENTIALS, name);
      expect(object.metadata.annotations).not.toHaveProperty(`${GROUP}/retiring`);
      const message = `${sibling.id} is not this object's resource; it is not deleted`;
      expect(await stack.events(name)).toContainEqual({ type: 'Warning', reason: 'IdentityRestored', message });
    });
    await stack.restart(async () => {
      await annotate(name, listed(sibling.id));
      await stack.run('delete', 'tcred', name, '--wait=false');
    });
    await eventually(async () => expect(await stack.find(CREDENTIALS, name)).toBeUndefined());
    expect(await stack.accepts(sibling.token)).toBe(true);
    expect(await stack.accepts(own.token)).toBe(false);
  });
});

describe('a rotation completes even if somebody edits', () => {
  test.each([
    ['the generation', { 'create-generation': '999999999' }],
    ['the key to a value that no header can carry', { 'create-key': 'schlüssel' }],
  ])('%s while it is under way', async (what, annotations) => {
    const name = `cut-${what.replaceAll(' ', '-')}`;
    const first = await made(name, { rotation: { overlap: '0s' } });
    await stack.restart(async () => {
      const retiring = JSON.stringify([{ id: first.id, generation: 1, after: '2026-01-01T00:00:00.000Z' }]);
      await annotate(name, { 'external-id': null, retiring, ...annotations });
    });
    await eventually(async () => {
      const { status } = await stack.ready(CREDENTIALS, name);
      expect(status.id).not.toBe(first.id);
      expect(await idsOf(name)).toEqual([status.id]);
      expect(await stack.accepts(await tokenOf(name))).toBe(true);
    });
    const reasons = (await stack.events(name)).map(({ reason }) => reason);
    expect(reasons).not.toContain('Rejected');
  });
});
