/** Requests sent for an object that declares the modules of another resource. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { remember } from '../../../src/client/entity-tags.ts';
import { ApiError } from '../../../src/client/errors.ts';
import type { FamilyCalls } from '../../../src/operator/kinds/external-of-family.ts';
import { externalOfModules, type ModuleCalls } from '../../../src/operator/kinds/external-of-modules.ts';
import { familyFields } from '../../../src/operator/kinds/family-fields.ts';
import type { Remote } from '../../../src/operator/managed/declaration/external.ts';
import { required } from '../../../src/resources/definition/resource.ts';

const ID = 'edg_01jd0000000000000000000000';
const error = (error_code: 'NOT_FOUND' | 'INVALID_REQUEST', status_code: number, details = {}) =>
  new ApiError({ error_code, status_code, msg: 'why', details }, 5000);

type Settings = Record<string, { max_age: number }>;

/** An edge with modules; each change of a module makes a new revision. */
function edgeWith(modules: Settings, { isThere = true, refused = new Map<string, Error>() } = {}) {
  const settings = new Map(Object.entries(modules));
  const [sent, gone]: [string[], Set<string>] = [[], new Set()];
  let revision = 1;
  const tagged = <T extends object>(value: T) => remember(value, { etag: `"${revision}"`, replayed: false });
  const edge = (): Remote => tagged({ id: ID, uri: 'https://api.example.com/edges/1', modules: [...settings.keys()] });
  const there = async () => {
    if (!isThere) throw error('NOT_FOUND', 404);
    return edge();
  };
  const callsOf = (name: string): ModuleCalls => ({
    async put(body, { ifMatch } = {}) {
      const refusal = refused.get(name);
      if (refusal) throw refusal;
      sent.push(`put ${name} ${JSON.stringify(body)} at ${ifMatch}`);
      revision += 1;
      settings.set(name, z.object({ max_age: z.int() }).parse(body));
      return tagged({ ...body });
    },
    async get() {
      const known = settings.get(name);
      if (!known || gone.has(name)) throw error('NOT_FOUND', 404);
      return known;
    },
    async delete({ ifMatch } = {}) {
      sent.push(`delete ${name} at ${ifMatch}`);
      if (!settings.delete(name)) throw error('NOT_FOUND', 404);
      revision += 1;
    },
  });
  const owners: FamilyCalls<Remote> = {
    create: there,
    update: there,
    delete: async () => {},
    get: there,
    async *list() {
      yield edge();
    },
  };
  const kinds = ['guard', 'backend'].map((name) => ({
    member: `${name}Settings`,
    name,
    fields: familyFields({ fields: { max_age: required(z.int()) } }),
    calls: () => callsOf(name),
  }));
  const claimed = (verb: string) => async (id: string) => {
    sent.push(`${verb} the modules of ${id}`);
    throw error('NOT_FOUND', 404);
  };
  const client = { moduleManagers: { claim: claimed('claim'), release: claimed('release') } } as never;
  const external = externalOfModules<object>({ prefix: 'edg', access: 'anyone' }, kinds, owners, client);
  return { sent, gone, settings, external, owners, kinds, client };
}

async function observed(given: ReturnType<typeof edgeWith>) {
  const remote = await given.external.observe(ID);
  if (!remote) throw new Error('there is no edge');
  return remote;
}

const both = { guard: { max_age: 1 }, backend: { max_age: 2 } };
const bothInSpec = { guardSettings: { maxAge: 1 }, backendSettings: { maxAge: 2 } };

describe('an owner', () => {
  test('is read with its modules, at its revision', async () => {
    const remote = await observed(edgeWith(both));
    expect(remote).toMatchObject({ id: ID, etag: '"1"', modules: both });
  });

  test('may be missing', async () => {
    const { external } = edgeWith({}, { isThere: false });
    expect(await external.observe(ID)).toBeUndefined();
    expect(await external.delete(ID)).toBe('not found');
  });

  test('has an id of its family, unless its calls say otherwise', () => {
    const { external, kinds, owners, client } = edgeWith({});
    expect(external.idPrefix).toBe('edg_');
    expect([ID, 'th_01jd0000000000000000000000'].map(external.isId)).toEqual([true, false]);
    const calls = { ...owners, isId: (id: string) => id === 'a/b' };
    const nested = externalOfModules({ prefix: 'edg', access: 'anyone' }, kinds, calls, client);
    expect(['a/b', ID].map(nested.isId)).toEqual([true, false]);
  });

  test('has a record of who manages its modules, under its own id; one that is gone needs none', async () => {
    const { external, sent } = edgeWith({});
    await external.claim(`whole/${ID}`, {});
    await external.release(ID, {});
    expect(sent).toEqual([`claim the modules of ${ID}`, `release the modules of ${ID}`]);
  });
});

describe('modules differ', () => {
  test.each([
    ['in nothing', bothInSpec, []],
    ['in a setting', { ...bothInSpec, backendSettings: { maxAge: 3 } }, ['backendSettings.maxAge']],
    ['by one that exists and is not declared', { guardSettings: { maxAge: 1 } }, ['backendSettings']],
    ['by one that is declared as null', { ...bothInSpec, guardSettings: null }, ['guardSettings']],
  ])('%s', async (_, spec, changes) => {
    const given = edgeWith(both);
    const remote = await observed(given);
    expect(given.external.changes(spec, remote)).toEqual(changes);
    expect(given.external.immutableChanges(spec, remote)).toEqual([]);
    expect(given.external.replacingChanges(spec, remote)).toEqual([]);
  });

  test('by one that is declared and missing', async () => {
    const given = edgeWith({ guard: { max_age: 1 } });
    expect(given.external.changes(bothInSpec, await observed(given))).toEqual(['backendSettings']);
  });
});

describe('an update', () => {
  test('sets guarding modules before serving ones, each at the revision of the change before it', async () => {
    const given = edgeWith({});
    const updated = await given.external.update(await observed(given), bothInSpec);
    expect(given.sent).toEqual(['put guard {"max_age":1} at "1"', 'put backend {"max_age":2} at "2"']);
    expect(updated).toMatchObject({ etag: '"3"', modules: both });
  });

  test('removes serving modules before guarding ones', async () => {
    const given = edgeWith(both);
    const updated = await given.external.update(await observed(given), {});
    expect(given.sent).toEqual(['delete backend at "1"', 'delete guard at "2"']);
    expect(updated).toMatchObject({ etag: '"3"', modules: {} });
  });

  test('sets modules before it removes others, and leaves matching ones alone', async () => {
    const given = edgeWith({ guard: { max_age: 1 } });
    await given.external.update(await observed(given), { backendSettings: { maxAge: 2 } });
    expect(given.sent).toEqual(['put backend {"max_age":2} at "1"', 'delete guard at "2"']);
    const same = edgeWith(both);
    await same.external.update(await observed(same), { ...bothInSpec, backendSettings: { maxAge: 3 } });
    expect(same.sent).toEqual(['put backend {"max_age":3} at "1"']);
  });

  test('that is refused names the module of the wrong setting', async () => {
    const refusal = error('INVALID_REQUEST', 400, { '/max_age': 'too much', id: ID });
    const given = edgeWith({}, { refused: new Map([['guard', refusal]]) });
    const failed = given.external.update(await observed(given), bothInSpec);
    await expect(failed).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      status: 400,
      message: 'why',
      details: { '/guard/max_age': 'too much', id: ID },
      retryAfterMs: 5000,
    });
  });
});

test('a delete removes all modules, serving ones before guarding ones, and nothing else', async () => {
  const given = edgeWith(both);
  expect(await given.external.delete(ID)).toBe('deleted');
  expect(given.sent).toEqual(['delete backend at "1"', 'delete guard at "2"']);
  const one = edgeWith({ guard: { max_age: 1 } });
  await one.external.delete(ID);
  expect(one.sent).toEqual(['delete guard at "1"']);
});
