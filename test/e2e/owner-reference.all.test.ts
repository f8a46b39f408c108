/** Owners by reference: the bots of credentials and API keys. */
import { expect, test } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { CREDENTIALS, manifest, ours } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'owners' });
const { namespace } = stack;

const KEYS = ours('apikeys');
const BOTS = ours('botusers');

test.each([
  ['APIKey', KEYS, 'token'],
  ['TunnelCredential', CREDENTIALS, 'token'],
])('%s waits for its owner, keeps it through a rotation, and blocks its deletion', async (kind, of, key) => {
  const name = `${of.plural}-owned`;
  await stack.apply(manifest(kind, name, { ownerRef: { name }, rotation: { overlap: '0s' } }));
  const { ready } = await stack.reason(of, name, 'Ready', 'ReferenceNotFound');
  expect(ready?.message).toContain(`spec.ownerRef: BotUser ${namespace}/${name} does not exist`);
  await stack.apply(manifest('BotUser', name, { name }));
  const first = await stack.ready(of, name);
  const bot = await stack.idOf(BOTS, name);
  expect(first.status.ownerId).toBe(bot);
  const secretName = String(first.status.secretName);
  const token = (await stack.secret(secretName))?.[key];

  await stack.annotate(of, name, { [ANNOTATION.rotateRequestedAt]: 'now' });
  await eventually(async () => {
    const { status } = await stack.ready(of, name);
    expect(status.id).not.toBe(first.status.id);
    expect(status.ownerId).toBe(bot);
    expect((await stack.secret(secretName))?.[key]).not.toBe(token);
    expect(await stack.remoteIds()).not.toContain(first.status.id);
  });
  await stack.run('delete', BOTS.plural, name, '--wait=false');
  const blocked = await stack.reason(BOTS, name, 'Ready', 'DeletionBlocked');
  expect(blocked.ready?.message).toBe(
    `${kind} ${namespace}/${name} refers to this object, which is deleted once nothing does: delete what refers to it`,
  );
  await stack.remove(of, name);
  await eventually(async () => expect(await stack.find(BOTS, name)).toBeUndefined());
});
