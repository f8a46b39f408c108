/** Into which Secrets an object can deliver, by the same rules as in its reconcile. */
import { describe, expect, test } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { tunnelCredentialKind } from '../../../src/operator/kinds/tunnel-credential.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { Blocked } from '../../../src/operator/managed/declaration/external.ts';
import { readSpec } from '../../../src/operator/managed/declaration/spec.ts';
import { type Handed, secretBody } from '../../../src/operator/managed/secrets/content.ts';
import type { Decision } from '../../../src/operator/plan/decision.ts';
import { SecretConflicts } from '../../../src/operator/plan/secret-conflicts.ts';
import { object } from '../objects.ts';

const { delivery, external, kind } = tunnelCredentialKind;
if (!delivery) throw new Error('the kind delivers nothing');
const { handout } = delivery;
const verbs = {
  ...external(createClient({ baseUrl: 'http://localhost:1', apiKey: 'x' })),
  observe: async () => undefined,
  sight: async () => 'everything' as const,
};
const CREATE: Decision = { action: 'create' };
const NOW = Promise.resolve();
const REMOTE = { id: 'cr_1', uri: '' };
const SHOWN = { ...REMOTE, token: 'token' };
const SHOWN_ANOTHER = { ...REMOTE, token: 'other' };
const TOKEN = { id: 'cr_1', value: 'token' };
const spec = readSpec(tunnelCredentialKind.spec, object({ spec: { secret: { name: 's' } } }));
const secretSpec = { secret: { name: 's', key: 'token' } };

const credential = (name: string, uid = `uid-of-${name}`) => object({ kind, name, uid });

/** The Secret as it was written for the object. */
function secretOf(owner: KubeObject, handed: Handed = TOKEN, more: object = {}): KubeObject {
  const { metadata, ...body } = secretBody(handout, owner, secretSpec, handed);
  return object({ ...body, ...more, name: 's', metadata });
}

/** The Secret that stays when its owner is deleted. */
function released(): KubeObject {
  const { metadata, ...secret } = secretOf(credential('gone'));
  const { ownerReferences: _, ...kept } = metadata;
  return { ...secret, metadata: kept };
}

interface Surroundings {
  readonly existing?: KubeObject | Error | undefined;
  readonly isDeclared?: boolean;
  readonly mayAdopt?: boolean;
}

function among({ existing, isDeclared = false, mayAdopt = true }: Surroundings = {}) {
  const notes: string[] = [];
  const conflicts = new SecretConflicts({
    async find({ namespace, name }) {
      if (existing instanceof Error) throw existing;
      return `${namespace}/${name}` === 'ns/s' ? existing : undefined;
    },
    isDeclared: ({ namespace, name }) => isDeclared && `${namespace}/${name}` === 'ns/s',
    mayAdopt: () => mayAdopt,
    note: (text) => void notes.push(text),
  });
  const deliver = (planned: KubeObject, decision = CREATE, turn = NOW) =>
    conflicts.mustHaveNone({ handout, external: verbs, object: planned, spec, decision }, turn);
  return { deliver, notes };
}

describe('an existing Secret', () => {
  const own = credential('a');

  test('accepts deliveries of its owner only', async () => {
    const { deliver, notes } = among({ existing: secretOf(own), isDeclared: true });
    await expect(deliver(own)).resolves.toBeUndefined();
    await expect(deliver(credential('b'))).rejects.toThrow('Secret s exists and belongs to TunnelCredential a');
    expect(notes).toEqual([]);
  });

  test('must have the type that is delivered', async () => {
    const { deliver } = among({ existing: secretOf(own, TOKEN, { type: 'Opaque' }) });
    await expect(deliver(own)).rejects.toThrow('Secret s has the type Opaque');
  });

  test.each([
    [true, 'which no longer exists'],
    [false, 'which may not be adopted from namespace ns'],
  ])('without an owner is only for the object that has its resource; adoption granted: %s', async (mayAdopt, why) => {
    const { deliver } = among({ existing: released(), mayAdopt });
    await expect(deliver(own)).rejects.toThrow(why);
    await expect(deliver(own, { action: 'none', remote: REMOTE })).resolves.toBeUndefined();
  });

  test.each<[string, Decision, boolean]>([
    ['the API does not show the value again', { action: 'none', remote: REMOTE }, true],
    ['the API shows the same value', { action: 'change', remote: SHOWN }, true],
    ['the API shows another value', { action: 'change', remote: SHOWN_ANOTHER }, false],
    ['the resource is to be replaced', { action: 'replace', remote: REMOTE }, false],
    ['there is no resource yet', CREATE, false],
    ['it is of another resource', { action: 'none', remote: { ...REMOTE, id: 'cr_2' } }, false],
  ])('may be immutable only if its content stays the same: %s', async (_, decision, isKept) => {
    const { deliver } = among({ existing: secretOf(own, TOKEN, { immutable: true }) });
    const delivered = deliver(own, decision);
    await (isKept ? expect(delivered).resolves.toBeUndefined() : expect(delivered).rejects.toThrow('is immutable'));
  });
});

describe('a Secret that does not exist yet', () => {
  test('belongs to the object whose turn comes first', async () => {
    const { deliver } = among();
    const { promise: turn, resolve: come } = Promise.withResolvers<void>();
    const later = deliver(credential('later', ''), CREATE, turn);
    await expect(deliver(credential('first', ''))).resolves.toBeUndefined();
    come();
    await expect(later).rejects.toThrow('Secret s exists and belongs to TunnelCredential first');
    await expect(later).rejects.toBeInstanceOf(Blocked);
  });
});
