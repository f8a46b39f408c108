/** What `plan` decides for an object, from the same facts as its reconcile. */
import { describe, expect, test } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { tlsEdgeKind } from '../../../src/operator/kinds/tls-edge.ts';
import { tlsEdgeModulesKind } from '../../../src/operator/kinds/tls-edge-modules.ts';
import { Blocked, type Remote } from '../../../src/operator/managed/declaration/external.ts';
import { readSpec } from '../../../src/operator/managed/declaration/spec.ts';
import {
  type AnyExternal,
  decide,
  decideModules,
  decideObserved,
  namesOnlyItsOwn,
  overdue,
} from '../../../src/operator/plan/decision.ts';
import { object } from '../objects.ts';

const [OWN, OTHER] = ['edgtls_01m7yvm3eyf20vnt1006h45zq2', 'edgtls_01m7yvm3eyf20vnt1006h45zq3'];
const status = { id: OWN, createGeneration: 2 };
const superseded = JSON.stringify([{ id: OWN, generation: 2, after: '2026-11-21T10:00:00Z' }]);
const own = { id: OWN, uri: '' };
const other = { id: OTHER, uri: '' };

interface Answers {
  readonly remotes?: readonly Remote[];
  readonly changed?: string[];
  readonly immutable?: string[];
  readonly replacing?: string[];
  readonly seesAll?: boolean;
}

/** The verbs of a kind, and the ids that were observed. */
function answering({ remotes = [], changed = [], immutable = [], replacing = [], seesAll = true }: Answers) {
  const asked: string[] = [];
  const external: AnyExternal = {
    ...tlsEdgeKind.external(createClient({ baseUrl: 'http://localhost:1', apiKey: 'x' })),
    sight: async () => (seesAll ? 'everything' : { ownerId: 'bot_1', mayBeAdmin: false }),
    changes: () => changed,
    immutableChanges: () => immutable,
    replacingChanges: () => replacing,
    async observe(id: string) {
      asked.push(id);
      return remotes.find((each) => each.id === id);
    },
  };
  return { asked, external };
}

type Planned = ReturnType<typeof object>;

const decided = (planned: Planned, answers: Answers) =>
  decide(undefined, answering(answers).external, planned, readSpec(tlsEdgeKind.spec, planned));

/** The ids that are observed if no resource exists. */
async function observed(planned: Planned) {
  const { asked, external } = answering({});
  await decide(undefined, external, planned, readSpec(tlsEdgeKind.spec, planned));
  return asked;
}

test('a resource that another account has is not said to be gone', async () => {
  const planned = object({ status });
  const spec = readSpec(tlsEdgeKind.spec, planned);
  const deciding = decide(undefined, answering({}).external, planned, spec, '--account acc_1');
  await expect(deciding).rejects.toThrow(
    `${OWN} does not exist in this account: plan this object with --account acc_1`,
  );
  expect(
    await decide(undefined, answering({ remotes: [own] }).external, planned, spec, '--account acc_1'),
  ).toMatchObject({
    action: 'none',
  });
});

describe('the resource of an object', () => {
  test.each([
    ['the one in its status, even if its annotation names another', object({ status }, { externalId: OTHER }), [OWN]],
    ['the one in its status, even if it is to adopt another', object({ status }, { adopt: OTHER }), [OWN]],
    [
      'the one in its annotation, once the one in its status is superseded',
      object({ status }, { externalId: OTHER, retiring: superseded }),
      [OTHER],
    ],
    ['the one in its annotation, if it has no status', object({}, { externalId: OTHER }), [OTHER]],
    ['none, if neither names one', object(), []],
  ])('is %s', async (_, planned, ids) => {
    expect(await observed(planned)).toEqual(ids);
  });

  test.each([
    [{ externalId: '../users' }, '../users, which tunnel-operator.dev/external-id names, is no id of this kind'],
    [{ adopt: '../users' }, '../users, which is to be adopted, is no id of this kind'],
  ])('is not looked up by a value that is not an id: %j', async (annotations, message) => {
    await expect(observed(object({}, annotations))).rejects.toThrow(message);
  });

  test.each<[string, Answers, object]>([
    ['stays if nothing differs', { remotes: [own] }, { action: 'none', changed: [] }],
    ['is changed in the members that differ', { remotes: [own], changed: ['a'] }, { action: 'change', changed: ['a'] }],
    [
      'is replaced if it cannot take a change',
      { remotes: [own], changed: ['a'], replacing: ['a'], immutable: ['a'] },
      { action: 'replace', reason: `spec.a changed, which ${OWN} cannot take` },
    ],
    ['is created again if it is gone', {}, { action: 'create', reason: `${OWN} no longer exists` }],
  ])('%s', async (_, answers, expected) => {
    expect(await decided(object({ status }), answers)).toMatchObject(expected);
  });

  test.each<[string[], string]>([
    [[], 'none'],
    [['a'], 'change'],
  ])('that differs in %j is adopted', async (changed, action) => {
    const planned = object({}, { adopt: OTHER });
    expect(await decided(planned, { remotes: [other], changed })).toMatchObject({ action, changed, reason: 'adopted' });
  });

  test.each<[string, Planned, Answers, string]>([
    ['may be hidden from the API key', object({ status }), { seesAll: false }, 'or the API key may not see it'],
    [
      'differs in a member that cannot change',
      object({ status }),
      { remotes: [own], immutable: ['a'] },
      `${OWN} differs in spec.a`,
    ],
    [
      'is to be adopted but does not exist',
      object({}, { adopt: OTHER }),
      {},
      `${OTHER}, which is to be adopted, does not exist`,
    ],
  ])('blocks its object if it %s', async (_, planned, answers, message) => {
    const decision = decided(planned, answers);
    await expect(decision).rejects.toBeInstanceOf(Blocked);
    await expect(decision).rejects.toThrow(message);
  });
});

describe('the resource that an object only observes', () => {
  const seen = (planned: Planned, remotes: readonly Remote[], kind: 'resource' | 'modules', owner = OWN) => {
    const spec = { ...readSpec(tlsEdgeKind.spec, planned), tlsEdgeRef: owner };
    const of = kind === 'modules' ? tlsEdgeModulesKind : tlsEdgeKind;
    return decideObserved(of, answering({ remotes }).external, planned, spec);
  };

  test('is the one in its status, or else in its annotations', async () => {
    const onlyObserved = { action: 'none', reason: 'only observed' };
    const both = object({ status }, { adopt: OTHER });
    expect(await seen(both, [own, other], 'resource')).toEqual({ ...onlyObserved, id: OWN });
    const named = object({}, { adopt: OTHER });
    expect(await seen(named, [own, other], 'resource')).toEqual({ ...onlyObserved, id: OTHER });
  });

  test('is the owner if it observes modules, even if the owner does not exist yet', async () => {
    const elsewhere = object({ status: { id: OTHER, createGeneration: 0 } });
    expect(await seen(elsewhere, [own, other], 'modules')).toMatchObject({ action: 'none', id: OWN });
    const toCome = await seen(object(), [], 'modules', 'the id of the new TLSEdge ns/a');
    expect(toCome).toEqual({ action: 'none', reason: 'only observed' });
  });

  test('blocks its object if the id is invalid, or nothing has it', async () => {
    await expect(seen(object({}, { adopt: '../users' }), [], 'resource')).rejects.toThrow(
      '../users, which is to be observed, is no id of this kind',
    );
    await expect(seen(object({}, { adopt: OTHER }), [own], 'resource')).rejects.toThrow(
      `${OTHER}, which is to be observed, does not exist`,
    );
  });
});

describe('modules', () => {
  const EMPTY = { ...own, modules: {} };
  const SET = { ...own, modules: { backend: {} } };
  const TO_COME = 'the id of the new TLSEdge ns/a';
  const movedFrom = (id: string) => object({}, { externalId: id });
  const modules = (planned: Planned, answers: Answers, owner = OWN) => {
    const { asked, external } = answering(answers);
    const spec = { ...readSpec(tlsEdgeKind.spec, planned), tlsEdgeRef: owner };
    return { asked, decision: decideModules(tlsEdgeModulesKind, external, planned, spec) };
  };

  test.each<[string, Planned, Answers, object, string?]>([
    ['are created with an owner that does not exist yet', object(), { remotes: [SET] }, { action: 'create' }, TO_COME],
    ['are created if there are none', object(), { remotes: [EMPTY], changed: ['a'] }, { action: 'create', id: OWN }],
    ['are changed if there are some', object(), { remotes: [SET], changed: ['a'] }, { action: 'change', remote: SET }],
    ['may be empty', object(), { remotes: [EMPTY] }, { action: 'none', remote: EMPTY }],
    ['stay if they do not differ', movedFrom(OWN), { remotes: [SET] }, { action: 'none', remote: SET }],
    [
      'are deleted from an earlier owner',
      movedFrom(OTHER),
      { remotes: [EMPTY, { ...SET, id: OTHER }], changed: ['a'] },
      { action: 'replace', remote: EMPTY, reason: `spec.tlsEdgeRef changed: the modules of ${OTHER} are deleted` },
    ],
    [
      'are not deleted from an earlier owner that has none',
      movedFrom(OTHER),
      { remotes: [SET, { ...EMPTY, id: OTHER }] },
      { action: 'none' },
    ],
    ['are not deleted from an earlier owner that is gone', movedFrom(OTHER), { remotes: [SET] }, { action: 'none' }],
  ])('%s', async (_, planned, answers, expected, owner = OWN) => {
    expect(await modules(planned, answers, owner).decision).toMatchObject(expected);
  });

  test('need an owner that exists', async () => {
    await expect(modules(object(), {}).decision).rejects.toThrow(`${OWN} does not exist`);
  });
});

test('a superseded resource is deleted at once only when a pause ends', () => {
  const named = { externalId: OTHER, retiring: superseded };
  const [paused, running] = [object({}, { ...named, paused: 'true' }), object({}, named)];
  expect(overdue(paused, running)).toEqual([OWN]);
  expect(overdue(running, running)).toEqual([]);
  expect(overdue(undefined, running)).toEqual([]);
});

test.each([
  ['no resource', object({ uid: '' }), [], true],
  ['a resource created for the object', object({}, { externalId: OTHER }), [OTHER], true],
  ['another resource', object({}, { externalId: OTHER }), [OWN], false],
])('whether annotations name only resources of the object: %s', async (_, planned, created, isOwn) => {
  const resources = created.map((id) => ({ id, sequence: 1 }));
  const scope = async () => ({ resources, nextSequence: 2 });
  expect(await namesOnlyItsOwn({ scope }, planned)).toBe(isOwn);
});
