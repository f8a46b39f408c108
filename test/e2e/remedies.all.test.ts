/** What to do about adoption and the like, as the messages say it. */
import { describe, expect, test } from 'vitest';
import { ADOPT, type Problem, ROTATE, retained, setAdopt, testRemedies, told } from './remedies.ts';
import { CREDENTIALS, credential, eventually, POLICIES, policy, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'remedies' });
const { client } = stack;

async function deletedPolicy(): Promise<string> {
  const { id } = await client.ipPolicies.create({});
  await client.ipPolicies.delete(id);
  return id;
}

const problems: Problem[] = [
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
      'correct the annotation': async (name) =>
        setAdopt(stack, POLICIES, name, (await client.ipPolicies.create({})).id),
      'remove it': (name) => setAdopt(stack, POLICIES, name, null),
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
        setAdopt(stack, POLICIES, name, (await client.ipPolicies.create({})).id),
      'remove it': (name: string) => setAdopt(stack, POLICIES, name, null),
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
      'set the annotation adopt': async (name) =>
        setAdopt(stack, POLICIES, name, (await client.ipPolicies.create({})).id),
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
      'correct the annotation': async (name) =>
        setAdopt(stack, POLICIES, name, (await client.ipPolicies.create({})).id),
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
      const id = await retained(stack, name);
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

testRemedies(stack, problems);

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
    const set = () => setAdopt(stack, POLICIES, name, id);
    await (isDown ? stack.restart(set) : set());
    await told(stack, POLICIES, name, `${own} matches the spec; ${note(own, id)}`);
    await eventually(async () => {
      const events = (await stack.events(name)).filter(({ reason }) => reason === 'AdoptionIgnored');
      expect(events).toEqual([{ type: 'Warning', reason: 'AdoptionIgnored', message: note(own, id) }]);
    });
    expect((await stack.ready(POLICIES, name)).status.id).toBe(own);

    await setAdopt(stack, POLICIES, name, null);
    await told(stack, POLICIES, name, `${own} matches the spec`);
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
