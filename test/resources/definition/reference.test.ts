import { describe, expect, test } from 'vitest';
import { botUser } from '../../../src/resources/bot-user.ts';
import { newId } from '../../../src/resources/definition/id.ts';
import { readOnlyAt, readOnlyInModule, showing } from '../../../src/resources/definition/read-only.ts';
import { idsOf, refOf, requiredReferences } from '../../../src/resources/definition/reference.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { tlsEdgeIpRestriction } from '../../../src/resources/tls-edge-modules.ts';

test.each([
  ['the first of its families', 'ipp_1', 'https://a.example/ip_policies/ipp_1'],
  ['the second one', 'bot_1', 'https://a.example/bot_users/bot_1'],
  ['none of them', 'x_1', 'https://a.example/x_1'],
])('a reference leads to the family that its prefix names: %s', (_, id, uri) => {
  expect(refOf([ipPolicy, botUser], id, 'https://a.example')).toEqual({ id, uri });
});

test.each([
  [null, []],
  [undefined, []],
  ['a', ['a']],
  [
    ['a', 'b'],
    ['a', 'b'],
  ],
])('the ids in %o are %o', (stored, ids) => {
  expect(idsOf(stored)).toEqual(ids);
});

test.each([
  [1, [], 'must have at least 1 id'],
  [2, [newId('ipp')], 'must have at least 2 ids'],
  [0, [newId('ipp'), newId('ipp'), newId('ipp')], 'must have at most 2 ids'],
])('a list of at least %i and at most 2 ids refuses %o', (min, ids, message) => {
  const { input } = requiredReferences([ipPolicy], 'policies', 'Policies.', { min, max: 2 });
  expect(input.safeParse(ids).error?.issues[0]?.message).toBe(message);
});

describe('the lookup of a read-only member', () => {
  const known = { members: { a: showing('b') }, inside: { list: { c: showing('d') } } };
  test.each([
    [['a'], known.members.a],
    [['b'], undefined],
    [['constructor'], undefined],
    [['list', 0, 'c'], known.inside.list.c],
    [['list', 0, 'd'], undefined],
    [['list', 'x', 'c'], undefined],
    [['list', 0], undefined],
    [['list', 0, 'c', 'e'], undefined],
    [['other', 0, 'c'], undefined],
    [[], undefined],
  ])('at %o', (path, expected) => {
    expect(readOnlyAt(known, path)).toBe(expected);
  });

  test('in a module maps the references that it shows to the ids that it accepts', () => {
    const { members } = readOnlyInModule(tlsEdgeIpRestriction.fields);
    expect(Object.keys(members)).toEqual(['ip_policies']);
    const { member, read } = members.ip_policies?.standsFor ?? {};
    expect(member).toBe('ip_policy_ids');
    expect(read?.([{ id: 'a', uri: 'x' }, { id: 'b' }])).toEqual(['a', 'b']);
    expect(read?.({ id: 'a' })).toBe('a');
    for (const other of ['a', null, {}, [{}], [{ id: 1 }]]) expect(read?.(other)).toBeUndefined();
  });
});

test('a module is enabled by default', () => {
  expect(tlsEdgeIpRestriction.fields.enabled.initial).toBe(true);
});
