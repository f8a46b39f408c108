/** What to do about a Secret that is in the way, as the messages say it. */
import { expect, test } from 'vitest';
import { cluster } from '../harness.ts';
import { lacksControllerManager, skipFor } from '../skip.ts';
import { ADOPT, type Problem, ROTATE, retained, setAdopt, testRemedies, told } from './remedies.ts';
import { CREDENTIALS, credential, eventually, SECRETS, startStack } from './stack.ts';

const needsControllerManager = skipFor(lacksControllerManager(await cluster()));
const stack = await startStack({ prefix: 'remedies' });
const { client, kube, namespace } = stack;

const rename = {
  'set spec.secret.name to another name': (name: string) =>
    stack.apply(credential(name, { secret: { name: `${name}-other` } })),
};
const deleteSecret = { 'delete the Secret': (name: string) => stack.run('delete', 'secret', name) };

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
      const id = await retained(stack, name);
      await stack.apply(credential(name));
      return id;
    },
    says: (name, id) =>
      `Secret ${name} exists and holds the token of ${id}: set the annotation ${ADOPT} to ${id}, or set spec.secret.name to another name`,
    remedies: { ...rename, 'set the annotation adopt': (name, id) => setAdopt(stack, CREDENTIALS, name, id) },
  },
  {
    what: 'a Secret that Retain left behind, in the way of one that has a token',
    type: CREDENTIALS,
    async arrange(name) {
      const id = await retained(stack, `${name}-before`);
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
      const id = await retained(stack, name);
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
];

testRemedies(stack, problems);

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
  await told(stack, CREDENTIALS, 'orphan', `Secret orphan exists and ${says}`);
  await stack.run('delete', 'secret', 'orphan');
  await stack.ready(CREDENTIALS, 'orphan');
});
