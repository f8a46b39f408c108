/** What a kind knows about its objects without a request. */
import { afterAll, describe, expect, test } from 'vitest';
import { createClient } from '../../../../src/client/client.ts';
import { owned } from '../../../../src/operator/kinds/owner.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { mayExist } from '../../../../src/operator/managed/declaration/external.ts';
import type { AnyKind } from '../../../../src/operator/managed/declaration/kind.ts';
import { NO_TERMS } from '../../../../src/operator/managed/declaration/spec-terms.ts';
import { ConnectedKind } from '../../../../src/operator/managed/object/connected-kind.ts';
import { noInputs } from '../../inputs.ts';
import { object } from '../../objects.ts';
import { modulesOf, type ThingKind, Things, thingKind, tokens } from '../things.ts';

const END = '2026-12-01T00:00:00.000Z';
const remote = { id: 'thg_1', uri: 'http://api/thg_1', size: 1, shape: 'round', material: 'wood' };
const at = (ms: number) => new Date(Date.parse(END) + ms);

const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'none' });
afterAll(() => client.close());

function connected(more: Partial<ThingKind> = {}, declared: Partial<AnyKind> = {}) {
  const kind: AnyKind = { ...thingKind(new Things(), more), ...declared };
  return new ConnectedKind(kind, client, undefined as never, noInputs());
}
const withSpec = (spec?: object): KubeObject => object({ kind: 'Thing', ...(spec && { spec }) });

describe('a resource with an end', () => {
  const end = { of: () => END, remedy: 'make another' };
  const ending = connected({ end });
  test.each([
    ['just before its end', -1, undefined, at(0)],
    ['at its end', 0, 'Expired', undefined],
    ['after its end', 1, 'Expired', undefined],
  ])('is observed again at its end, and Expired from then on: %s', (_, ms, reason, again) => {
    const expired = ending.expired(remote, at(ms));
    expect(expired?.reason).toBe(reason);
    if (expired) expect(expired.message).toBe(`thg_1 expired at ${END}: make another`);
    expect(ending.refreshAt(remote, at(ms))).toEqual(again);
  });

  test('says what has expired if not the resource itself', () => {
    const what = (thing: { id: string }) => `an issuer of ${thing.id}`;
    expect(connected({ end: { ...end, what } }).expired(remote, at(0))?.message).toMatch(
      /^an issuer of thg_1 expired at /,
    );
  });

  test('is observed earlier if the service may change it', () => {
    const soon = at(-1_000);
    expect(connected({ end, refreshAt: () => soon }).refreshAt(remote, at(-5_000))).toEqual(soon);
    expect(connected({ refreshAt: () => soon }).refreshAt(remote, at(-5_000))).toEqual(soon);
    expect(connected().refreshAt(remote, at(0))).toBeUndefined();
    expect(connected().expired(remote, at(0))).toBeUndefined();
  });
});

describe('a token', () => {
  const handing = (looksHeld: boolean, renewal = {}) => {
    const kind = connected(tokens([]));
    return Object.assign(kind, { delivery: { ...kind.delivery, looksHeld: () => looksHeld, renewal: () => renewal } });
  };
  const observe = { managementPolicy: 'Observe' };

  test.each<[string, boolean, ConnectedKind, object | undefined]>([
    ['according to the caches', true, handing(true), undefined],
    ['not according to the caches', false, handing(false), {}],
    ['if the kind hands out nothing', true, connected(), {}],
    ['if the object only observes', true, handing(false), observe],
    ['not if the spec is invalid', false, handing(true), { size: 'large' }],
  ])('is held %s', (_, isHeld, kind, spec) => {
    expect(kind.looksHeld(withSpec(spec))).toBe(isHeld);
  });

  test.each<[string, object, object, Date | undefined]>([
    ['at once, if due', { due: 'scheduled' }, {}, at(0)],
    ['when it is due', { at: at(5_000) }, {}, at(5_000)],
    ['never, if there is no time for it', {}, {}, undefined],
    ['never, if the object only observes', { at: at(5_000) }, observe, undefined],
  ])('is renewed %s', (_, renewal, spec, expected) => {
    const kind = handing(true, renewal);
    expect(kind.renewsAt(withSpec(spec), kind.membersOf(withSpec(spec)), remote, at(0))).toEqual(expected);
  });
});

describe('a spec', () => {
  test('can be read but not compared if a member is invalid', () => {
    const kind = connected();
    const invalid = withSpec({ size: 'large', shape: 'flat' });
    expect(kind.membersOf(invalid)).toMatchObject({ size: 'large', shape: 'flat', material: 'wood' });
    expect([kind.specIfValid(invalid), kind.comparableSpec(invalid)]).toEqual([undefined, undefined]);
    const members = { size: 1, shape: 'round', material: 'wood', managementPolicy: 'Manage' };
    expect(kind.membersOf(withSpec())).toMatchObject(members);
    expect(kind.comparableSpec(withSpec({}))).toMatchObject(members);
  });

  test('cannot be compared while a reference is not resolved', () => {
    const kind = connected({ spec: owned('thing').spec as never });
    expect(kind.comparableSpec(withSpec({}))).toMatchObject({ managementPolicy: 'Manage' });
    expect(kind.comparableSpec(withSpec({ ownerRef: { name: 'ci' } }))).toBeUndefined();
  });

  test('gives the terms of error messages', () => {
    const members = new Map([['size_in_api', 'size']]);
    const terms = connected({ memberNames: members }).termsOf(withSpec({ size: 1 }));
    expect(terms).toMatchObject({ spec: { size: 1 }, members });
    expect(connected().termsOf(withSpec({})).members).toBe(NO_TERMS.members);
  });

  test('declares modules only if the object manages', () => {
    const kind = connected({ owner: { ...modulesOf('own_1').owner, modulesIn: () => ['tls'] } });
    expect(kind.modulesIn(withSpec({}))).toEqual(['tls']);
    expect(kind.modulesIn(withSpec({ managementPolicy: 'Observe' }))).toEqual([]);
    expect(connected().modulesIn(withSpec({}))).toEqual([]);
  });
});

test.each<[string, boolean, typeof remote | undefined, 'everything' | { ownerId: string; mayBeAdmin: boolean }]>([
  ['that is found may exist', true, remote, 'everything'],
  ['that is not found does not, if the key sees everything', false, undefined, 'everything'],
  ['that is not found may exist otherwise', true, undefined, { ownerId: 'usr_1', mayBeAdmin: false }],
])('a resource %s', async (_, may, found, sight) => {
  expect(await mayExist({ observe: async () => found, sight: async () => sight }, 'thg_1')).toBe(may);
});
