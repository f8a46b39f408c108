import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import { annotation } from '../../../../src/operator/kube/kube-object.ts';
import {
  Blocked,
  type Remote,
  type Renewal,
  type RotateOptions,
  StaleObject,
} from '../../../../src/operator/managed/declaration/external.ts';
import { findRemote } from '../../../../src/operator/managed/steps/replacement.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { apiError, Things, tokens } from '../things.ts';

const DUE: Renewal = { cause: 'requested', overlapMs: 600_500, message: 'Rotation was requested' };
const OVERLAP = 601;

/** Things that issue another token in place. */
class RotatingThings extends Things {
  readonly calls: RotateOptions[] = [];
  /** By key. */
  readonly issued = new Map<string, string>();
  /** What happens to the calls, one after the other; by default, they succeed. */
  readonly fates: ('the response is lost' | 'the token is not shown' | 'the key is taken')[] = [];

  async rotate(id: string, options: RotateOptions): Promise<(Remote & { token: string | null }) | undefined> {
    const thing = await this.observe(id);
    if (!thing) return undefined;
    const { idempotencyKey } = options;
    this.calls.push(options);
    const fate = this.fates.shift();
    if (fate === 'the key is taken') throw apiError('IDEMPOTENCY_KEY_REUSED', { resource_id: id });
    const token = this.issued.get(idempotencyKey) ?? `token ${this.issued.size + 1}`;
    this.issued.set(idempotencyKey, token);
    if (fate === 'the response is lost') throw apiError('UNAVAILABLE');
    return { ...thing, token: fate === 'the token is not shown' ? null : token };
  }
}

async function rotating(annotations: Parameters<typeof object>[1] = {}) {
  const things = new RotatingThings().makeFor('thg_1');
  /** The tokens that were written to the Secret; a refusal is thrown once. */
  const secret = { tokens: [] as unknown[], refusals: [] as Error[] };
  const begun = { externalId: 'thg_1', createGeneration: '1', rotateRequestedAt: 'r', ...annotations };
  const { delivery } = tokens(['thg_1'], {
    async deliver(_recipient, _spec, remote) {
      const refusal = secret.refusals.shift();
      if (refusal) throw refusal;
      if ('token' in remote) secret.tokens.push(remote.token);
      return 'held';
    },
  });
  if (!delivery) throw new Error('there is no delivery');
  // Due until it is handled, as a request is.
  const renewal: typeof delivery.renewal = (of) =>
    annotation(of, ANNOTATION.rotateHandledAt) !== annotation(of, ANNOTATION.rotateRequestedAt) ? { due: DUE } : {};
  const kind = { delivery: { ...delivery, renewal } };
  const made = await manage(object({}, begun), { things, kind });
  const { managed, spec } = made;
  const recorded = async () => annotation(await made.object(), ANNOTATION.rotation);
  return { ...made, things, secret, recorded, find: () => findRemote(managed, spec) };
}

const record = (more: object = {}) => JSON.stringify({ id: 'thg_1', key: 'k1', overlap: 5, ...more });

describe('a rotation of a resource that stays', () => {
  test('has its key recorded first, its token in the Secret next, and is recorded as done last', async () => {
    const { things, secret, recorded, find, identity, object: stored, events, metrics } = await rotating();
    things.fates.push('the response is lost');
    await expect(find()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const begun = JSON.parse((await recorded()) ?? '{}');
    expect(begun).toEqual({ id: 'thg_1', key: things.calls[0]?.idempotencyKey, overlap: OVERLAP });
    expect(annotation(await stored(), ANNOTATION.rotateHandledAt)).toBe('r');
    secret.refusals.push(new Blocked('SecretConflict', 'taken'));
    await expect(find()).rejects.toThrow(Blocked);
    expect(await recorded()).toBeDefined();
    expect(await find()).toMatchObject({ remote: { id: 'thg_1', token: 'token 1' }, isHeld: true });
    expect([await recorded(), secret.tokens, things.issued.size]).toEqual([undefined, ['token 1'], 1]);
    expect(new Set(things.calls.map(({ idempotencyKey, overlap }) => `${idempotencyKey} ${overlap}`)).size).toBe(1);
    expect(await identity()).toMatchObject({ externalId: 'thg_1', generation: 1, retiring: [] });
    expect(await events()).toEqual(['TokenRotated: Rotation was requested']);
    expect((await metrics.credentialsIssued.get()).values).toMatchObject([
      { labels: { cause: 'requested' }, value: 1 },
    ]);
  });

  test('is resumed as it was recorded, whatever the spec says by now', async () => {
    const { things, secret, find } = await rotating({ rotation: record(), rotateHandledAt: 'r' });
    things.issued.set('k1', 'token 1');
    await find();
    expect(things.calls).toMatchObject([{ idempotencyKey: 'k1', overlap: 5, manager: { kind: 'Thing' } }]);
    expect(secret.tokens).toEqual(['token 1']);
  });

  test('is followed by another that was requested meanwhile', async () => {
    const { things, secret, find, recorded } = await rotating({ rotation: record(), rotateHandledAt: 'before' });
    await find();
    expect(things.calls.map(({ overlap }) => overlap)).toEqual([5, OVERLAP]);
    expect([secret.tokens, await recorded()]).toEqual([['token 1', 'token 2'], undefined]);
  });

  test.each(['the token is not shown', 'the key is taken'] as const)('takes another key if %s', async (fate) => {
    const { things, secret, find } = await rotating({ rotation: record(), rotateHandledAt: 'r' });
    things.fates.push(fate);
    await find();
    expect(things.calls).toHaveLength(2);
    expect(things.calls[1]).toMatchObject({ idempotencyKey: expect.not.stringMatching('k1'), overlap: 5 });
    expect(secret.tokens).toHaveLength(1);
  });

  test('is left to the next reconcile after several keys', async () => {
    const { things, find } = await rotating();
    things.fates.push(...Array(3).fill('the token is not shown'));
    await expect(find()).rejects.toThrow(StaleObject);
    expect(things.calls).toHaveLength(3);
  });

  test.each([
    ['of an earlier resource', record({ id: 'thg_0' })],
    ['edited to nonsense', '{'],
    ['with a key that is no header', record({ key: 'ü' })],
  ])('is not resumed from a record %s', async (_, rotation) => {
    const { things, find } = await rotating({ rotation, rotateHandledAt: 'r' });
    await find();
    expect(things.calls).toEqual([]);
  });

  test('is neither begun nor resumed for a stale object, or begun without a Secret that can be written', async () => {
    for (const annotations of [{}, { rotation: record() }]) {
      const { things, find, outdate } = await rotating(annotations);
      await outdate();
      await expect(find()).rejects.toThrow(StaleObject);
      expect(things.calls).toEqual([]);
    }
    const { managed, things, find, recorded } = await rotating();
    Object.assign(managed.kind.delivery ?? {}, {
      prepare: () => Promise.reject(new Blocked('SecretConflict', 'taken')),
    });
    await expect(find()).rejects.toThrow(Blocked);
    expect([things.calls, await recorded()]).toEqual([[], undefined]);
  });

  test('ends with the resource: the next one has a token of its own', async () => {
    const { things, find, recorded, identity } = await rotating({ rotation: record() });
    await things.delete('thg_1');
    expect(await find()).toBeUndefined();
    expect(await recorded()).toBeUndefined();
    expect(await identity()).toMatchObject({ externalId: undefined, generation: 2 });
    expect(things.calls).toEqual([]);
  });
});
