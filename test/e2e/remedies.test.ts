/** Whoever does what a message says gets there: every remedy that a message names, carried out to the letter. */
import { describe, expect, test } from 'vitest';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { cluster } from '../harness.ts';
import { lacksControllerManager, skipFor } from '../skip.ts';
import { CREDENTIALS, credential, eventually, POLICIES, policy, SECRETS, startStack } from './stack.ts';

const needsControllerManager = skipFor(lacksControllerManager(await cluster()));
const stack = await startStack({ prefix: 'remedies' });
const { client, kube, namespace } = stack;

const ADOPT = 'tunnel-operator.dev/adopt';
const ROTATE = 'tunnel-operator.dev/rotate-requested-at';

interface Problem {
  what: string;
  type: ResourceType;
  /** Brings an object of that name into trouble; returns an id if the remedies need it. */
  arrange(name: string): Promise<string | undefined>;
  /** What the condition Ready says then. */
  says: (name: string, id: string | undefined) => string;
  /** What that names, in its words. */
  remedies: Record<string, (name: string, id: string) => Promise<unknown>>;
}

const rename = {
  'set spec.secret.name to another name': (name: string) =>
    stack.apply(credential(name, { secret: { name: `${name}-other` } })),
};
const deleteSecret = { 'delete the Secret': (name: string) => stack.run('delete', 'secret', name) };

const setAdopt = (type: ResourceType, name: string, id: string | null) => stack.annotate(type, name, { [ADOPT]: id });

async function retained(name: string): Promise<string> {
  await stack.apply(credential(name, { deletionPolicy: 'Retain' }));
  const { status } = await stack.ready(CREDENTIALS, name);
  await stack.remove(CREDENTIALS, name);
  return String(status.id);
}

async function deletedPolicy(): Promise<string> {
  const { id } = await client.ipPolicies.create({});
  await client.ipPolicies.delete(id);
  return id;
}

const problems: Problem[] = [
  {
    what: 'a Secret of somebody else',
    type: CREDENTIALS,
    async arrange(name) {
      await stack.run('create', 'secret', 'generic', name, '--from-literal=token=mine');
      await stack.apply(credential(name));
      return undefined;
    },
    says: (name) =>
      `Secret ${name} exists and does not belong to this object: set spec.secret.name to another name, or delete the Secret`,
    remedies: { ...rename, ...deleteSecret },
  },
  {
    what: 'a Secret of another credential',
    type: CREDENTIALS,
    async arrange(name) {
      await stack.apply(credential(`${name}-owner`, { secret: { name } }));
      await stack.ready(CREDENTIALS, `${name}-owner`);
      await stack.apply(credential(name));
      return undefined;
    },
    says: (name) =>
      `Secret ${name} exists and belongs to TunnelCredential ${name}-owner: set spec.secret.name to another name`,
    remedies: rename,
  },
  {
    what: 'a Secret that Retain left behind',
    type: CREDENTIALS,
    async arrange(name) {
      const id = await retained(name);
      await stack.apply(credential(name));
      return id;
    },
    says: (name, id) =>
      `Secret ${name} exists and holds the token of ${id}: set the annotation ${ADOPT} to ${id}, or set spec.secret.name to another name`,
    remedies: { ...rename, 'set the annotation adopt': (name, id) => setAdopt(CREDENTIALS, name, id) },
  },
  {
    what: 'a Secret that Retain left behind, in the way of one that has a token',
    type: CREDENTIALS,
    async arrange(name) {
      const id = await retained(`${name}-before`);
      await stack.apply(credential(name));
      await stack.ready(CREDENTIALS, name);
      await stack.apply(credential(name, { secret: { name: `${name}-before` } }));
      return id;
    },
    says: (name, id) =>
      `Secret ${name}-before exists and holds the token of ${id}: set spec.secret.name to another name`,
    remedies: rename,
  },
  {
    what: 'a Secret whose credential was deleted in the API',
    type: CREDENTIALS,
    async arrange(name) {
      const id = await retained(name);
      await client.credentials.delete(id);
      await stack.apply(credential(name));
      return id;
    },
    says: (name, id) =>
      `Secret ${name} exists and holds the token of ${id}, which no longer exists: set spec.secret.name to another name, or delete the Secret`,
    remedies: { ...rename, ...deleteSecret },
  },
  {
    what: 'an immutable Secret that a rotation has to change',
    type: CREDENTIALS,
    async arrange(name) {
      await stack.apply(credential(name, { description: name }));
      const { status } = await stack.ready(CREDENTIALS, name);
      await kube.patch(SECRETS, name, { immutable: true }, namespace);
      await stack.annotate(CREDENTIALS, name, { [ROTATE]: 'now' });
      await stack.reason(CREDENTIALS, name, 'Ready', 'SecretConflict');
      // No token was issued that has no place, and the old one works.
      const made = await stack.sql('select id from credentials where description = $1', [name]);
      expect(made).toEqual([{ id: status.id }]);
      expect(await stack.accepts((await stack.secret(name))?.token)).toBe(true);
      return status.id;
    },
    says: (name) =>
      `Secret ${name} is immutable, and has to change: delete the Secret, or set spec.secret.name to another name`,
    remedies: { ...rename, ...deleteSecret },
  },
  {
    what: 'an immutable Secret that has to get another key',
    type: CREDENTIALS,
    async arrange(name) {
      await stack.apply(credential(name));
      await stack.ready(CREDENTIALS, name);
      await kube.patch(SECRETS, name, { immutable: true }, namespace);
      await stack.apply(credential(name, { secret: { key: 'other' } }));
      return undefined;
    },
    says: (name) =>
      `Secret ${name} is immutable, and has to change: delete the Secret, or set spec.secret.name to another name`,
    remedies: {
      'delete the Secret': async (name) => {
        await stack.run('delete', 'secret', name);
        await eventually(async () => expect(await stack.secret(name)).toHaveProperty('other'));
        await stack.apply(credential(name));
      },
      ...rename,
    },
  },
  {
    what: 'the id of something that does not exist in the annotation adopt',
    type: POLICIES,
    async arrange(name) {
      const id = await deletedPolicy();
      await stack.apply(policy(name, {}, { [ADOPT]: id }));
      return id;
    },
    says: (_, id) =>
      `${id}, named by the annotation ${ADOPT}, does not exist: correct the annotation, or remove it to have a new one created`,
    remedies: {
      'correct the annotation': async (name) => setAdopt(POLICIES, name, (await client.ipPolicies.create({})).id),
      'remove it': (name) => setAdopt(POLICIES, name, null),
    },
  },
  ...['..', 'cr_01k9zq3v5hf8svx2r4c6y7n0wd'].map((id) => ({
    what: `${id} instead of the id of a policy in the annotation adopt`,
    type: POLICIES,
    async arrange(name: string) {
      await stack.apply(policy(name, {}, { [ADOPT]: id }));
      return undefined;
    },
    says: () =>
      `${id}, named by the annotation ${ADOPT}, is not an id for the kind IPPolicy (ipp_…): correct the annotation, or remove it to have a new one created`,
    remedies: {
      'correct the annotation': async (name: string) =>
        setAdopt(POLICIES, name, (await client.ipPolicies.create({})).id),
      'remove it': (name: string) => setAdopt(POLICIES, name, null),
    },
  })),
  {
    what: 'nothing to observe',
    type: POLICIES,
    async arrange(name) {
      await stack.apply(policy(name, { managementPolicy: 'Observe' }));
      return undefined;
    },
    says: () =>
      `There is nothing to observe: set the annotation ${ADOPT} to the id of a resource, or managementPolicy to Manage`,
    remedies: {
      'set the annotation adopt': async (name) => setAdopt(POLICIES, name, (await client.ipPolicies.create({})).id),
      'set managementPolicy to Manage': (name) => stack.apply(policy(name, { managementPolicy: 'Manage' })),
    },
  },
  {
    what: 'something to observe that does not exist',
    type: POLICIES,
    async arrange(name) {
      const id = await deletedPolicy();
      await stack.apply(policy(name, { managementPolicy: 'Observe' }, { [ADOPT]: id }));
      return id;
    },
    says: (_, id) => `${id} does not exist: correct the annotation ${ADOPT}`,
    remedies: {
      'correct the annotation': async (name) => setAdopt(POLICIES, name, (await client.ipPolicies.create({})).id),
    },
  },
  {
    what: 'a resource of its own that is gone while it only observes',
    type: POLICIES,
    async arrange(name) {
      await stack.apply(policy(name));
      const { status } = await stack.ready(POLICIES, name);
      await client.ipPolicies.delete(String(status.id));
      await stack.apply(policy(name, { managementPolicy: 'Observe' }));
      return status.id;
    },
    says: (_, id) => `${id} does not exist: set managementPolicy to Manage to have it created again`,
    remedies: {
      'set managementPolicy to Manage': (name) => stack.apply(policy(name, { managementPolicy: 'Manage' })),
    },
  },
  {
    what: 'a token that cannot be read back',
    type: CREDENTIALS,
    async arrange(name) {
      const { id } = await client.credentials.create({});
      await stack.apply(credential(name, {}, { [ADOPT]: id, [ROTATE]: 'before' }));
      return id;
    },
    says: (_, id) =>
      `The token of the adopted ${id} cannot be read back. Set the annotation ${ROTATE} to a new value to get a new one; the old one stays valid for the overlap`,
    remedies: { 'set the annotation': (name) => stack.annotate(CREDENTIALS, name, { [ROTATE]: 'now' }) },
  },
  {
    what: 'a resource to adopt that differs in what cannot be changed',
    type: CREDENTIALS,
    async arrange(name) {
      const id = await retained(name);
      const { id: ownerId } = await client.botUsers.create({ name });
      await stack.apply(credential(name, { ownerId }, { [ADOPT]: id }));
      return id;
    },
    says: (_, id) =>
      `${id} differs in spec.ownerId, which cannot be changed: delete this object and create one that matches ${id}`,
    remedies: {
      'delete this object and create one that matches': async (name, id) => {
        await stack.remove(CREDENTIALS, name);
        await stack.apply(credential(name, {}, { [ADOPT]: id }));
        expect((await stack.ready(CREDENTIALS, name)).status.id).toBe(id);
      },
    },
  },
];

/** Waits for the words of the condition Ready. */
const told = (type: ResourceType, name: string, message: string) =>
  eventually(async () => expect((await stack.see(type, name)).ready?.message).toBe(message));

describe.each(problems.map((problem, n) => ({ ...problem, n })))('$what', ({ n, type, arrange, says, remedies }) => {
  test.each(Object.entries(remedies))('%s', async (remedy, perform) => {
    const name = `problem-${n}-${Object.keys(remedies).indexOf(remedy)}`;
    const id = await arrange(name);
    await told(type, name, says(name, id));
    await perform(name, String(id));
    await stack.ready(type, name);
    if (type !== CREDENTIALS) return;
    const { secretName } = (await stack.see(type, name)).status;
    expect(await stack.accepts((await stack.secret(String(secretName)))?.token)).toBe(true);
  });
});

test('a Secret that --cascade=orphan left behind may be deleted', needsControllerManager, async () => {
  const id = await eventually(async () => {
    await stack.apply(credential('orphan'));
    const { status } = await stack.ready(CREDENTIALS, 'orphan');
    await stack.run('delete', 'tcred', 'orphan', '--cascade=orphan');
    // The garbage collector orphans only what it has seen by then.
    const { metadata } = await kube.get(SECRETS, 'orphan', namespace);
    expect(metadata.ownerReferences ?? []).toEqual([]);
    return status.id;
  });
  await stack.apply(credential('orphan'));
  const says = `holds the token of ${id}, which no longer exists: set spec.secret.name to another name, or delete the Secret`;
  await told(CREDENTIALS, 'orphan', `Secret orphan exists and ${says}`);
  await stack.run('delete', 'secret', 'orphan');
  await stack.ready(CREDENTIALS, 'orphan');
});

describe('the annotation adopt on an object that has a resource', () => {
  const note = (own: string, id: string) =>
    `the annotation ${ADOPT} has no effect, since this object has ${own}: remove it, and create another object with it to adopt ${id}`;

  test.each([
    ['while the operator works', false],
    ['while it is down', true],
  ])('set %s is said to have no effect, and what helps does', async (_, isDown) => {
    const name = `late-${isDown}`;
    await stack.apply(policy(name));
    const own = String((await stack.ready(POLICIES, name)).status.id);
    const { id } = await client.ipPolicies.create({});
    const set = () => setAdopt(POLICIES, name, id);
    await (isDown ? stack.restart(set) : set());
    await told(POLICIES, name, `${own} matches the spec; ${note(own, id)}`);
    await eventually(async () => {
      const events = (await stack.events(name)).filter(({ reason }) => reason === 'AdoptionIgnored');
      expect(events).toEqual([{ type: 'Warning', reason: 'AdoptionIgnored', message: note(own, id) }]);
    });
    expect((await stack.ready(POLICIES, name)).status.id).toBe(own);

    await setAdopt(POLICIES, name, null);
    await told(POLICIES, name, `${own} matches the spec`);
    await stack.apply(policy(`${name}-another`, {}, { [ADOPT]: id }));
    await eventually(async () => expect((await stack.ready(POLICIES, `${name}-another`)).status.id).toBe(id));
  });

  test('that took the place of the one it names is nothing to speak of', async () => {
    const { id } = await client.credentials.create({});
    await stack.apply(credential('moved-on', { rotation: { overlap: '0s' } }, { [ADOPT]: id }));
    await stack.reason(CREDENTIALS, 'moved-on', 'Ready', 'TokenUnavailable');
    await stack.annotate(CREDENTIALS, 'moved-on', { [ROTATE]: 'now' });
    const { status } = await stack.ready(CREDENTIALS, 'moved-on');
    const { ready } = await stack.reconciled(CREDENTIALS, 'moved-on');
    expect(ready?.message).toBe(`${status.id} matches the spec`);

    // Nor does the object adopt it again, however its successor goes.
    await client.credentials.delete(String(status.id));
    await stack.reconciled(CREDENTIALS, 'moved-on');
    expect((await stack.ready(CREDENTIALS, 'moved-on')).status.id).not.toBe(status.id);
    expect(await stack.accepts((await stack.secret('moved-on'))?.token)).toBe(true);
  });
});

describe('kubectl apply', () => {
  test('of another owner: delete this object and create another', async () => {
    const [{ id: first }, { id: second }] = await Promise.all([
      client.botUsers.create({ name: 'first' }),
      client.botUsers.create({ name: 'second' }),
    ]);
    await stack.apply(credential('owned', { ownerId: first }));
    await stack.ready(CREDENTIALS, 'owned');
    const { stderr } = await stack.tryApply(credential('owned', { ownerId: second }));
    expect(stderr).toContain('ownerId is immutable; delete this object and create another');
    await stack.remove(CREDENTIALS, 'owned');
    await stack.apply(credential('owned', { ownerId: second }));
    await stack.ready(CREDENTIALS, 'owned');
  });

  test('of an address for a network: write the network address', async () => {
    const rules = (cidr: string) => ({ rules: [{ cidr, action: 'deny' }] });
    const { stderr } = await stack.tryApply(policy('address', rules('10.1.0.0/8')));
    expect(stderr).toContain('write the network address, as in 10.0.0.0/8');
    await stack.apply(policy('address', rules('10.0.0.0/8')));
    await stack.ready(POLICIES, 'address');
  });
});
