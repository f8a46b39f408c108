/** What a kind knows of its objects without asking anybody. */
import { describe, expect, test } from 'vitest';
import { remember } from '../../../../src/client/entity-tags.ts';
import { owned } from '../../../../src/operator/kinds/owner.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { dated, mayExist } from '../../../../src/operator/managed/declaration/external.ts';
import type { AnyKind } from '../../../../src/operator/managed/declaration/kind.ts';
import { NO_TERMS } from '../../../../src/operator/managed/declaration/spec-terms.ts';
import { ConnectedKind } from '../../../../src/operator/managed/object/connected-kind.ts';
import { noInputs } from '../../inputs.ts';
import { object } from '../../objects.ts';
import { type ThingKind, Things, thingKind, tokens } from '../things.ts';

const END = '2026-12-01T00:00:00.000Z';
const remote = { id: 'thg_1', uri: 'http://api/thg_1', size: 1, shape: 'round', material: 'wood' };
const at = (ms: number) => new Date(Date.parse(END) + ms);

function connected(more: Partial<ThingKind> = {}, declared: Partial<AnyKind> = {}) {
  const kind: AnyKind = { ...thingKind(new Things(), more), ...declared };
  return new ConnectedKind(kind, undefined as never, undefined as never, noInputs());
}
const withSpec = (spec?: object): KubeObject => object({ kind: 'Thing', ...(spec && { spec }) });
const specOf = (kind: ConnectedKind, spec: object) => kind.membersOf(withSpec(spec));

describe('a resource that ends', () => {
  const end = { of: () => END, remedy: 'make another' };
  const ending = connected({ end });
  test.each([
    ['long before', -86_400_000, undefined, at(0)],
    ['just before', -1, undefined, at(0)],
    ['at its end', 0, 'Expired', undefined],
    ['after it', 1, 'Expired', undefined],
  ])('%s', (_, ms, reason, again) => {
    expect(ending.expired(remote, at(ms))?.reason).toBe(reason);
    expect(ending.refreshAt(remote, at(ms))).toEqual(again);
  });

  test('does so by the clock of the API, as far as that is known', () => {
    const answered = { ...remote, answeredAt: at(0) };
    expect(ending.expired(answered, at(-86_400_000))?.message).toBe(`thg_1 expired at ${END}: make another`);
    expect(ending.expired({ ...remote, answeredAt: at(-5_000) }, at(60_000))).toBeUndefined();
  });

  test('is looked at again before, if the service may have changed it by then', () => {
    const soon = at(-1_000);
    expect(connected({ end, refreshAt: () => soon }).refreshAt(remote, at(-5_000))).toEqual(soon);
    expect(connected({ refreshAt: () => soon }).refreshAt(remote, at(-5_000))).toEqual(soon);
    expect(connected().refreshAt(remote, at(0))).toBeUndefined();
    expect(connected().expired(remote, at(0))).toBeUndefined();
  });
});

describe('what is handed out', () => {
  const handing = (looksHeld: boolean, renewal = {}) => {
    const kind = connected(tokens([]));
    return Object.assign(kind, { delivery: { ...kind.delivery, looksHeld: () => looksHeld, renewal: () => renewal } });
  };

  test.each<[string, boolean, ConnectedKind, object | undefined]>([
    ['as the caches have it', true, handing(true), {}],
    ['as the caches have it not', false, handing(false), {}],
    ['where nothing is handed out', true, connected(), {}],
    ['where the object only observes', true, handing(false), { managementPolicy: 'Observe' }],
    ['where the spec says nothing valid', false, handing(true), { size: 'large' }],
    ['where there is no spec', true, handing(true), undefined],
  ])('is held %s: %s', (_, isHeld, kind, spec) => {
    expect(kind.looksHeld(withSpec(spec))).toBe(isHeld);
  });

  test.each<[string, object, object, Date | undefined]>([
    ['at once, if that is due', { due: 'scheduled' }, {}, at(0)],
    ['when it is due', { at: at(5_000) }, {}, at(5_000)],
    ['never, if nothing says when', {}, {}, undefined],
    ['never, where the object only observes', { at: at(5_000) }, { managementPolicy: 'Observe' }, undefined],
  ])('is renewed %s', (_, renewal, spec, expected) => {
    const kind = handing(true, renewal);
    expect(kind.renewsAt(withSpec(spec), specOf(kind, spec), remote, at(0))).toEqual(expected);
  });
});

describe('of a spec that is invalid', () => {
  const kind = connected();
  test('the rest counts for others', () => {
    expect(kind.specIfValid(withSpec({ size: 'large' }))).toBeUndefined();
    expect(kind.membersOf(withSpec({ size: 'large', shape: 'flat' }))).toMatchObject({
      size: 'large',
      shape: 'flat',
      material: 'wood',
    });
    expect(kind.comparableSpec(withSpec({ size: 'large' }))).toBeUndefined();
  });

  test('nothing is taken from a valid one, which has its defaults', () => {
    const members = { size: 1, shape: 'round', material: 'wood', managementPolicy: 'Manage' };
    for (const given of [withSpec(), withSpec({})]) {
      expect(kind.specIfValid(given)).toMatchObject(members);
      expect(kind.membersOf(given)).toMatchObject(members);
      expect(kind.comparableSpec(given)).toMatchObject(members);
    }
  });
});

test('a spec cannot be compared while what it refers to is not there', () => {
  const kind = connected({ spec: owned('thing').spec as never });
  expect(kind.comparableSpec(withSpec({}))).toMatchObject({ managementPolicy: 'Manage' });
  expect(kind.comparableSpec(withSpec({ ownerRef: { name: 'ci' } }))).toBeUndefined();
});

test('an error is told in the words of the spec', () => {
  const memberNames = new Map([['size_in_api', 'size']]);
  expect(connected({ memberNames }).termsOf(withSpec({ size: 1 }))).toMatchObject({
    spec: { size: 1 },
    members: memberNames,
  });
  expect(connected().termsOf(withSpec({})).members).toBe(NO_TERMS.members);
});

describe('settings of another resource', () => {
  test('are declared only where the object manages', () => {
    const kind = connected({ owner: { kind: 'Owner', givenIn: () => 'own_1', modulesIn: () => ['tls'] } });
    expect(kind.modulesIn(withSpec({}))).toEqual(['tls']);
    expect(kind.modulesIn(withSpec({ managementPolicy: 'Observe' }))).toEqual([]);
    expect(connected().modulesIn(withSpec({}))).toEqual([]);
  });
});

describe('a resource', () => {
  test.each<[string, boolean, typeof remote | undefined, 'everything' | { ownerId: string; mayBeAdmin: boolean }]>([
    ['that is there may exist', true, remote, 'everything'],
    ['that is not there does not, if all can be seen', false, undefined, 'everything'],
    ['that is not there may, if not all can be seen', true, undefined, { ownerId: 'usr_1', mayBeAdmin: false }],
  ])('%s', async (_, may, found, sight) => {
    expect(await mayExist({ observe: async () => found, sight: async () => sight }, 'thg_1')).toBe(may);
  });

  test('has the time of its answer, or of that of the list that it was in', () => {
    const listed = remember(remote, { etag: undefined, replayed: false, date: at(0) });
    expect(dated(listed).answeredAt).toEqual(at(0));
    expect(dated({ ...remote, answeredAt: at(1) }).answeredAt).toEqual(at(1));
    expect(
      dated(remember({ ...remote, answeredAt: at(1) }, { etag: undefined, replayed: false, date: at(0) })).answeredAt,
    ).toEqual(at(1));
  });
});
