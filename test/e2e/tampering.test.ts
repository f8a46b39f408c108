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

/** An object that adopts a credential whose token is known. */
async function adopting(name: string, spec: object = {}) {
  const { id, token } = await stack.client.credentials.create({ description: name });
  await stack.apply(credential(name, { description: name, ...spec }, { [`${OURS}/adopt`]: id }));
  await stack.reason(CREDENTIALS, name, 'Ready', 'TokenUnavailable');
  return { id, token: token ?? undefined };
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
  const entries: object[] = JSON.parse(object.metadata.annotations?.[`${OURS}/retiring`] ?? '[]');
  return { retiring: JSON.stringify(entries.map((entry) => ({ ...entry, after: '2026-01-01T00:00:00.000Z' }))) };
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
    await stack.apply(credential('adopting', {}, { [`${OURS}/adopt`]: gone.id }));
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
      expect(object.metadata.annotations).not.toHaveProperty(`${OURS}/retiring`);
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
      expect(metadata.annotations).not.toHaveProperty(`${OURS}/retiring`);
    });
    await stack.remove(CREDENTIALS, 'tidy');
    expect(await stack.client.credentials.get(id)).toMatchObject({ id });
  });
});

/** As restored from a backup after its namespace was lost: under another UID, without its status. */
async function restored(name: string) {
  const { metadata } = (await stack.see(CREDENTIALS, name)).object;
  const { spec } = (await stack.see(CREDENTIALS, name)).object;
  await stack.kube.patch(CREDENTIALS, name, { metadata: { finalizers: null } }, stack.namespace);
  await stack.run('delete', 'tcred', name, '--cascade=orphan');
  const { annotations = {}, finalizers = [] } = metadata;
  await stack.apply({ ...credential(name, spec as object), metadata: { name, annotations, finalizers } });
}

test('what is restored from a backup under another UID still retires what it had superseded', async () => {
  const first = await made('restored', { rotation: { overlap: '1h' } });
  const second = await rotated('restored', first.id);
  await stack.restart(() => restored('restored'));
  expect((await stack.ready(CREDENTIALS, 'restored')).status).toMatchObject({ id: second.id });
  for (const { token } of [first, second]) expect(await stack.accepts(token)).toBe(true);
  const third = await rotated('restored', second.id);
  await annotate('restored', await overdue('restored'));
  await eventually(async () => expect(await stack.accepts(first.token)).toBe(false));
  expect(await stack.accepts(third.token)).toBe(true);
  await stack.remove(CREDENTIALS, 'restored');
  expect(await idsOf('restored')).toEqual([]);
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
  expect(object.metadata.annotations).not.toHaveProperty(`${OURS}/create-generation`);
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
  await stack.apply(credential('last', { description: 'last' }, { [`${OURS}/create-generation`]: '999999999' }));
  const { status } = await stack.ready(CREDENTIALS, 'last');
  const { id, token } = await rotated('last', String(status.id));
  expect(await stack.accepts(token)).toBe(true);
  expect(await idsOf('last')).toContain(id);
});

describe('a superseded token is revoked', () => {
  test.each([
    ['unlisted', made],
    ['adopted-unlisted', adopting],
  ])('although the list of what is to be retired was removed: %s', async (name, begin) => {
    const first = await begin(name, { rotation: { overlap: '3s' } });
    await rotated(name, first.id);
    await annotate(name, { retiring: null });
    await eventually(async () => expect(await stack.accepts(first.token)).toBe(false));
    expect(await stack.accepts(await tokenOf(name))).toBe(true);
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

  test('when the object is deleted under Observe, which leaves the newest to be adopted', async () => {
    const first = await made('left', { rotation: { overlap: '1h' } });
    const second = await rotated('left', first.id);
    await stack.apply(credential('left', { description: 'left', managementPolicy: 'Observe' }));
    await stack.reason(CREDENTIALS, 'left', 'Synced', 'Observed');
    expect(await stack.accepts(first.token)).toBe(true);
    await stack.remove(CREDENTIALS, 'left');
    expect(await idsOf('left')).toEqual([second.id]);
    const secret = await stack.kube.get(SECRETS, 'left', stack.namespace);
    expect(secret.metadata.ownerReferences ?? []).toEqual([]);
    await stack.apply(credential('left', { description: 'left' }, { [`${OURS}/adopt`]: second.id }));
    expect((await stack.ready(CREDENTIALS, 'left')).status.id).toBe(second.id);
    expect(await tokenOf('left')).toBe(second.token);
    expect(await stack.accepts(second.token)).toBe(true);
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

test('a resource that was given up because it seemed gone is taken back', async () => {
  const BOTS = { group: GROUP, version: VERSION, plural: 'botusers' };
  await stack.apply(manifest({ name: 'BotUser' }, 'found', { name: 'a bot' }));
  const id = String((await stack.ready(BOTS, 'found')).status.id);
  // As the operator leaves it that was told by a replica that it is gone.
  const retiring = JSON.stringify([{ id, generation: 1, after: '2026-01-01T00:00:00.000Z' }]);
  const next = { 'external-id': null, 'create-generation': '2', 'create-key': 'next', retiring };
  await stack.annotate(
    BOTS,
    'found',
    Object.fromEntries(Object.entries(next).map(([key, value]) => [`${OURS}/${key}`, value])),
  );
  await stack.reconciled(BOTS, 'found');
  const { status } = await stack.ready(BOTS, 'found');
  expect(status).toMatchObject({ id });
  expect(status).not.toHaveProperty('retiring');
  expect(await stack.client.botUsers.get(id)).toMatchObject({ name: 'a bot' });
  await stack.remove(BOTS, 'found');
});
