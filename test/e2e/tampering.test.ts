/** Annotations that belong to the operator are edited by hand, and superseded tokens are revoked whatever else is wrong. */
import { describe, expect, test } from 'vitest';
import { GROUP, VERSION } from '../../src/operator/contract/names.ts';
import { CREDENTIALS, credential, eventually, manifest, SECRETS, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'tampering' });

const OURS = 'tunnel-operator.dev';
const ROTATE = `${OURS}/rotate-requested-at`;
const tokenOf = async (name: string) => (await stack.secret(name))?.token;
const annotate = (name: string, annotations: Record<string, string | null>) =>
  stack.annotate(
    CREDENTIALS,
    name,
    Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`${OURS}/${key}`, value])),
  );

async function made(name: string, spec: object = {}) {
  await stack.apply(credential(name, { description: name, ...spec }));
  const { status } = await stack.ready(CREDENTIALS, name);
  return { id: String(status.id), token: await tokenOf(name) };
}

/** The ids of all credentials that were created for the object. */
const idsOf = async (name: string) => {
  const rows = await stack.sql('select id from credentials where description = $1 order by id', [name]);
  return rows.map(({ id }) => id);
};

async function rotated(name: string, id: string) {
  await stack.annotate(CREDENTIALS, name, { [ROTATE]: `${Date.now()}` });
  return eventually(async () => {
    const { status } = await stack.ready(CREDENTIALS, name);
    expect(status.id).not.toBe(id);
    return { id: String(status.id), token: await tokenOf(name) };
  });
}

/** As if everything that waits for a time were overdue. */
async function overdue(name: string) {
  const { object } = await stack.see(CREDENTIALS, name);
  const { id, generation } = JSON.parse(object.metadata.annotations?.[`${OURS}/retiring`] ?? '[]')[0];
  return { retiring: JSON.stringify([{ id, generation, after: '2026-01-01T00:00:00.000Z' }]) };
}

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
      expect(object.metadata.annotations).toMatchObject({ [`${OURS}/external-id`]: own.id });
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

describe('an object keeps exactly one credential when somebody', () => {
  test.each([
    ['sets the generation forward', { 'create-generation': '99' }],
    ['sets the generation back', { 'create-generation': '1' }],
    ['removes the generation', { 'create-generation': null }],
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

describe('a superseded token is revoked', () => {
  test('although the list of what is to be retired was removed', async () => {
    const first = await made('unlisted', { rotation: { overlap: '3s' } });
    await rotated('unlisted', first.id);
    await annotate('unlisted', { retiring: null });
    await eventually(async () => expect(await stack.accepts(first.token)).toBe(false));
    expect(await stack.accepts(await tokenOf('unlisted'))).toBe(true);
  });

  test('when the policy is Observe by then', async () => {
    const first = await made('observed', { rotation: { overlap: '3s' } });
    const second = await rotated('observed', first.id);
    await stack.apply(credential('observed', { description: 'observed', managementPolicy: 'Observe' }));
    await stack.reason(CREDENTIALS, 'observed', 'Synced', 'Observed');
    await eventually(async () => expect(await stack.accepts(first.token)).toBe(false));
    expect(await stack.accepts(second.token)).toBe(true);
    await stack.remove(CREDENTIALS, 'observed');
    expect(await idsOf('observed')).toEqual([second.id]);
  });

  test('when the object is deleted under Observe', async () => {
    const first = await made('left', { rotation: { overlap: '1h' } });
    const second = await rotated('left', first.id);
    await stack.apply(credential('left', { description: 'left', managementPolicy: 'Observe' }));
    await stack.reason(CREDENTIALS, 'left', 'Synced', 'Observed');
    expect(await stack.accepts(first.token)).toBe(true);
    await stack.remove(CREDENTIALS, 'left');
    expect(await idsOf('left')).toEqual([second.id]);
  });

  test('when its Secret belongs to somebody else by then', async () => {
    const first = await made('conflicting', { rotation: { overlap: '1h' } });
    await rotated('conflicting', first.id);
    await stack.restart(async () => {
      await stack.run('delete', 'secret', 'conflicting');
      await stack.kube.create(SECRETS, { metadata: { name: 'conflicting' } }, stack.namespace);
      await annotate('conflicting', await overdue('conflicting'));
    });
    await eventually(async () => expect(await stack.accepts(first.token)).toBe(false));
    await stack.reason(CREDENTIALS, 'conflicting', 'Ready', 'SecretConflict');
  });

  test('not while the object is paused, which says so, but after that', async () => {
    const first = await made('paused', { rotation: { overlap: '1h' } });
    await rotated('paused', first.id);
    await annotate('paused', { paused: 'true', ...(await overdue('paused')) });
    const { synced } = await stack.reason(CREDENTIALS, 'paused', 'Synced', 'Paused');
    expect(synced?.message).toContain(`superseded, and not deleted while paused: ${first.id}`);
    expect(await stack.accepts(first.token)).toBe(true);
    await annotate('paused', { paused: null });
    await eventually(async () => expect(await stack.accepts(first.token)).toBe(false));
  });
});

test('a superseded resource that is still in use is deleted when it no longer is, and holds up nothing', async () => {
  const BOTS = { group: GROUP, version: VERSION, plural: 'botusers' };
  const { client } = stack;
  await stack.apply(manifest({ name: 'BotUser' }, 'replaced', { name: 'a bot' }));
  await stack.ready(BOTS, 'replaced');
  const old = await client.botUsers.create({ name: 'the bot before' });
  const owned = await client.credentials.create({ owner_id: old.id });
  const retiring = JSON.stringify([{ id: old.id, generation: 0, after: '2026-01-01T00:00:00.000Z' }]);
  await stack.annotate(BOTS, 'replaced', { [`${OURS}/retiring`]: retiring });
  await stack.reconciled(BOTS, 'replaced');
  await stack.apply(manifest({ name: 'BotUser' }, 'replaced', { name: 'another name' }));
  expect((await stack.ready(BOTS, 'replaced')).status.retiring).toMatchObject([{ id: old.id }]);
  await client.credentials.delete(owned.id);
  expect((await stack.reconciled(BOTS, 'replaced')).status).not.toHaveProperty('retiring');
  await expect(client.botUsers.get(old.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
