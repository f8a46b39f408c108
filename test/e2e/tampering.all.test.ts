/** Annotations that belong to the operator are edited by hand. */
import { describe, expect, test } from 'vitest';
import { GROUP } from '../../src/operator/contract/names.ts';
import { credentialsOf } from './credentials.ts';
import { CREDENTIALS, credential, eventually, manifest, ours, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'tampering' });
const { tokenOf, annotate, made, adopting, idsOf, rotated } = credentialsOf(stack);

describe('an external-id that is edited to that of a sibling', () => {
  test.each([
    ['while the operator works', false, 'a', 'b'],
    ['while the operator works, of the older one', false, 'd', 'c'],
    ['while it is down', true, 'e', 'f'],
  ])('%s leaves each with its own credential', async (_, isDown, first, second) => {
    const older = await made(`sibling-${[first, second].sort()[0]}`);
    const younger = await made(`sibling-${[first, second].sort()[1]}`);
    const [name, own, sibling] = first < second ? [first, older, younger] : [first, younger, older];
    const edit = () => annotate(`sibling-${name}`, { 'external-id': sibling.id });
    await (isDown ? stack.restart(edit) : edit());
    await eventually(async () => {
      const { object, status } = await stack.ready(CREDENTIALS, `sibling-${name}`);
      expect(object.metadata.annotations).toMatchObject({ [`${GROUP}/external-id`]: own.id });
      expect(status.id).toBe(own.id);
    });
    await stack.ready(CREDENTIALS, `sibling-${second}`);
    for (const { token } of [own, sibling]) expect(await stack.accepts(token)).toBe(true);
    await eventually(async () => {
      const message = `${sibling.id} is not this object's resource; restored ${own.id}`;
      expect(await stack.events(`sibling-${name}`)).toContainEqual({
        type: 'Warning',
        reason: 'IdentityRestored',
        message,
      });
    });
    await stack.remove(CREDENTIALS, `sibling-${name}`);
    expect(await idsOf(`sibling-${name}`)).toEqual([]);
    expect(await stack.accepts(sibling.token)).toBe(true);
  });

  test('of an object that is then deleted leaves nothing of its own behind, and all of the sibling', async () => {
    const own = await made('gone-own');
    const sibling = await made('gone-sibling');
    await stack.restart(async () => {
      await annotate('gone-own', { 'external-id': sibling.id });
      await stack.run('delete', 'tcred', 'gone-own', '--wait=false');
    });
    await eventually(async () => expect(await stack.find(CREDENTIALS, 'gone-own')).toBeUndefined());
    expect(await stack.accepts(own.token)).toBe(false);
    expect(await stack.accepts(sibling.token)).toBe(true);
  });
});

/** Two objects, the second of which is younger: ages count in whole seconds. */
async function madeInTurn(older: string, younger: string) {
  const first = await made(older);
  const { metadata } = (await stack.see(CREDENTIALS, older)).object;
  await eventually(() => expect(Date.now()).toBeGreaterThan(Date.parse(metadata.creationTimestamp) + 1_000));
  return [first, await made(younger)] as const;
}

describe('what is claimed by an older object that', () => {
  const claims: [string, (name: string, id: string) => Promise<unknown>][] = [
    ['had its id edited', (name, id) => annotate(name, { 'external-id': id })],
    [
      'lost its status, too',
      async (name, id) => {
        await annotate(name, { 'external-id': id });
        await stack.kube.patch(CREDENTIALS, name, { status: { id: null } }, stack.namespace, 'status');
      },
    ],
    [
      'had its status edited, too',
      async (name, id) => {
        await annotate(name, { 'external-id': id });
        await stack.kube.patch(CREDENTIALS, name, { status: { id } }, stack.namespace, 'status');
      },
    ],
  ];

  test.each(claims)('is paused and %s stays with the one that it was created for', async (what, claim) => {
    const suffix = what.replaceAll(/\W+/g, '-');
    const [older, younger] = [`older-${suffix}`, `younger-${suffix}`];
    const [own, sibling] = await madeInTurn(older, younger);
    await annotate(older, { paused: 'true' });
    await stack.reason(CREDENTIALS, older, 'Synced', 'Paused');
    await claim(older, sibling.id);
    await stack.reconciled(CREDENTIALS, younger);
    await stack.ready(CREDENTIALS, younger);
    await stack.remove(CREDENTIALS, younger);
    expect(await idsOf(younger)).toEqual([]);
    await annotate(older, { paused: null, 'reconcile-requested-at': 'now' });
    await eventually(async () => {
      const { status } = await stack.ready(CREDENTIALS, older);
      expect(await idsOf(older)).toEqual([status.id]);
    });
    await stack.remove(CREDENTIALS, older);
    expect(await idsOf(older)).toEqual([]);
    expect(await stack.accepts(own.token)).toBe(false);
  });

  test('is to adopt it stays with the one that manages it, until that gives it up', async () => {
    const gone = await stack.client.credentials.create({});
    await stack.client.credentials.delete(gone.id);
    await stack.apply(credential('adopting', {}, { [`${GROUP}/adopt`]: gone.id }));
    const { object } = await stack.reason(CREDENTIALS, 'adopting', 'Ready', 'ExternalNotFound');
    const age = Date.parse(object.metadata.creationTimestamp);
    await eventually(() => expect(Date.now()).toBeGreaterThan(age + 1_000));
    const managed = await made('managed', { deletionPolicy: 'Retain' });
    await annotate('adopting', { adopt: managed.id });
    const { ready } = await stack.reason(CREDENTIALS, 'adopting', 'Ready', 'ManagementConflict');
    expect(ready?.message).toContain(`${managed.id} is already managed by the TunnelCredential`);
    await stack.reconciled(CREDENTIALS, 'managed');
    await stack.ready(CREDENTIALS, 'managed');
    await stack.remove(CREDENTIALS, 'managed');
    await eventually(async () => expect((await stack.see(CREDENTIALS, 'adopting')).status.id).toBe(managed.id));
  });
});

describe('an id that is added to what is to be retired', () => {
  const listed = (id: string, generation: number) => ({
    retiring: JSON.stringify([{ id, generation, after: '2026-01-01T00:00:00.000Z' }]),
  });
  const wipeStatus = (name: string) =>
    stack.kube.patch(CREDENTIALS, name, { status: { id: null } }, stack.namespace, 'status');

  test.each([
    ['of a sibling', 1, false],
    ['of a sibling, as if adopted', 0, false],
    ['of a sibling, with the status lost', 1, true],
  ])('%s is not deleted, nor when the object is deleted', async (what, generation, isLost) => {
    const suffix = what.replaceAll(/\W+/g, '-');
    const [name, other] = [`own-${suffix}`, `sibling-${suffix}`];
    const own = await made(name);
    const sibling = await made(other);
    await stack.restart(async () => {
      await annotate(name, listed(sibling.id, generation));
      if (isLost) await wipeStatus(name);
    });
    await eventually(async () => {
      const { object } = await stack.ready(CREDENTIALS, name);
      expect(object.metadata.annotations).not.toHaveProperty(`${GROUP}/retiring`);
      const message = `${sibling.id} is not this object's resource; it is not deleted`;
      expect(await stack.events(name)).toContainEqual({ type: 'Warning', reason: 'IdentityRestored', message });
    });
    await stack.restart(async () => {
      await annotate(name, listed(sibling.id, generation));
      await stack.run('delete', 'tcred', name, '--wait=false');
    });
    await eventually(async () => expect(await stack.find(CREDENTIALS, name)).toBeUndefined());
    expect(await stack.accepts(sibling.token)).toBe(true);
    expect(await stack.accepts(own.token)).toBe(false);
  });

  test('of something that no object manages is not deleted', async () => {
    await made('tidy');
    const { id } = await stack.client.credentials.create({});
    await annotate('tidy', listed(id, 0));
    await eventually(async () => {
      const { metadata } = (await stack.see(CREDENTIALS, 'tidy')).object;
      expect(metadata.annotations).not.toHaveProperty(`${GROUP}/retiring`);
    });
    await stack.remove(CREDENTIALS, 'tidy');
    expect(await stack.client.credentials.get(id)).toMatchObject({ id });
  });
});

describe('an object keeps exactly one credential when somebody', () => {
  test.each([
    ['sets the generation forward', { 'create-generation': '99' }],
    ['sets the generation back', { 'create-generation': '1' }],
    ['removes the generation', { 'create-generation': null }],
    ['sets the generation beyond all that there are', { 'create-generation': '999999999' }],
    ['sets the generation beyond what can be counted', { 'create-generation': '1000000000000' }],
    ['removes the key', { 'create-key': null }],
    ['removes the id', { 'external-id': null }],
    ['removes all but the id', { 'create-generation': null, 'create-key': null, retiring: null }],
    ['removes all but the generation', { 'external-id': null, 'create-key': null, retiring: null }],
  ])('%s', async (what, annotations) => {
    const name = what.replaceAll(' ', '-');
    const first = await made(name, { rotation: { overlap: '0s' } });
    const second = await rotated(name, first.id);
    await annotate(name, annotations);
    await stack.reconciled(CREDENTIALS, name);
    await stack.run('delete', 'secret', name);
    const third = await eventually(async () => {
      const { status } = await stack.ready(CREDENTIALS, name);
      const token = await tokenOf(name);
      expect(await stack.accepts(token)).toBe(true);
      expect(await idsOf(name)).toEqual([status.id]);
      return { token };
    });
    expect(third.token).not.toBe(second.token);
    await stack.remove(CREDENTIALS, name);
    expect(await idsOf(name)).toEqual([]);
  });
});

test('an adopted credential whose generation somebody sets is still an adopted one, and works', async () => {
  const { id, token } = await adopting('adopted');
  await annotate('adopted', { 'create-generation': '3' });
  await stack.reconciled(CREDENTIALS, 'adopted');
  const { object, status } = await stack.reason(CREDENTIALS, 'adopted', 'Ready', 'TokenUnavailable');
  expect(object.metadata.annotations).not.toHaveProperty(`${GROUP}/create-generation`);
  expect(status.id).toBe(id);
  expect(await stack.accepts(token)).toBe(true);
});

describe('a rotation comes to its end although somebody edits', () => {
  test.each([
    ['the generation', { 'create-generation': '999999999' }],
    ['the generation to more than can be counted', { 'create-generation': '1000000000' }],
    ['the key to what no header can carry', { 'create-key': 'schlüssel' }],
    ['the key to what is too long', { 'create-key': 'k'.repeat(300) }],
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

test('a manifest with the last generation of all leaves generations to rotate with', async () => {
  await stack.apply(credential('last', { description: 'last' }, { [`${GROUP}/create-generation`]: '999999999' }));
  const { status } = await stack.ready(CREDENTIALS, 'last');
  const { id, token } = await rotated('last', String(status.id));
  expect(await stack.accepts(token)).toBe(true);
  expect(await idsOf('last')).toContain(id);
});

test('a resource that was given up because it seemed gone is taken back', async () => {
  const BOTS = ours('botusers');
  await stack.apply(manifest({ name: 'BotUser' }, 'found', { name: 'a bot' }));
  const id = String((await stack.ready(BOTS, 'found')).status.id);
  // As the operator leaves it that was told by a replica that it is gone.
  const retiring = JSON.stringify([{ id, generation: 1, after: '2026-01-01T00:00:00.000Z' }]);
  const next = { 'external-id': null, 'create-generation': '2', 'create-key': 'next', retiring };
  await stack.annotate(
    BOTS,
    'found',
    Object.fromEntries(Object.entries(next).map(([key, value]) => [`${GROUP}/${key}`, value])),
  );
  await stack.reconciled(BOTS, 'found');
  const { status } = await stack.ready(BOTS, 'found');
  expect(status).toMatchObject({ id });
  expect(status).not.toHaveProperty('retiring');
  expect(await stack.client.botUsers.get(id)).toMatchObject({ name: 'a bot' });
  await stack.remove(BOTS, 'found');
});
