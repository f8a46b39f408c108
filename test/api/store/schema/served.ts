/** Checks that the API of this release works with everything in a database. */
import { expect } from 'vitest';
import { z } from 'zod';
import { sampleValues } from '../../../../dev/fixtures/sample-values.ts';
import { createSample } from '../../../../dev/fixtures/samples.ts';
import type { Resource } from '../../../../src/resources/definition/resource.ts';
import { FAMILIES } from '../../../../src/resources/families.ts';
import { ipPolicy } from '../../../../src/resources/ip-policy.ts';
import type { TestApi } from '../../harness.ts';

const view = z.looseObject({ id: z.string(), uri: z.url() });
const withId = z.object({ id: z.string() });

interface Found {
  readonly family: Resource;
  readonly id: string;
  readonly path: string;
}

/** Expects lists and GET to show every resource alike, GET to find every module, and rule sets to have every rule. */
export async function expectServed(api: TestApi): Promise<void> {
  const found = await everything(api);
  const listed = await listedIn(api, found);
  // The use of the key of this caller may be recorded in between.
  const lasting = ({ last_used_at: _, ...others }: Partial<z.output<typeof view>>) => others;
  for (const { id, path } of found)
    expect(lasting((await api.admin.get(path)).as(view))).toEqual(lasting(listed.get(id) ?? {}));

  const modules = z.array(z.object({ id: z.string() })).parse(await api.rows('select id from modules'));
  for (const { id } of modules) {
    const [owner, name] = id.split('/');
    const path = found.find((each) => each.id === owner)?.path;
    expect((await api.admin.get(`${path}/${name}`)).status).toBe(200);
  }
  for (const { id } of found.filter(({ family }) => family.name === ipPolicy.name)) {
    const { ip_policy_rules: rules } = (await api.admin.get(`/ip_policies/${id}/rules`)).as(ruleSet);
    const stored = await api.rows('select id from ip_policy_rules where ip_policy_id = $1', [id]);
    expect(rules.map((rule) => rule.id).sort()).toEqual(stored.map((row) => row.id).sort());
  }
}

const ruleSet = z.object({ ip_policy_rules: z.array(withId) });

/** Expects every resource to accept a change, which adds one revision. */
export async function expectChangeable(api: TestApi): Promise<void> {
  for (const { family, id, path } of await everything(api)) {
    const revision = `select revision from ${family.table} where id = $1`;
    const [before] = await api.rows(revision, [id]);
    const text = `changed at revision ${before?.revision}`;
    const [name = ''] = Object.keys(family.samples.change);
    // The text names the revision, since repeating a text would not be a change.
    const body = { [name]: text };
    const reply = await api.admin.patch(path, body);
    expect(reply.as(view)).toMatchObject(body);
    expect(await api.rows(revision, [id])).toEqual([{ revision: Number(before?.revision) + 1 }]);
  }
}

/**
 * Expects new resources of every family to be created beside the old ones, and HTTPS edges to be deleted.
 * @param first number of the first sample; calls on one database need different ones
 */
export async function expectExtensible(api: TestApi, first = 1000): Promise<void> {
  const post = async (path: string, body: object) => (await api.admin.post(path, body)).as(view);
  const values = await sampleValues();
  for (const [index, family] of FAMILIES.entries()) {
    await createSample(post, family, 'full', first + index, values);
    if (family.name === ipPolicy.name) await expectRuleSets(api, (await post(family.path, {})).id);
  }
  for (const { id } of z.array(withId).parse(await api.rows('select id from https_edges'))) {
    expect((await api.admin.delete(`/edges/https/${id}`)).status).toBe(204);
  }
}

async function expectRuleSets(api: TestApi, policyId: string): Promise<void> {
  for (const action of ['allow', 'deny']) {
    const rules = [{ cidr: '192.0.2.0/24', action }];
    expect((await api.admin.put(`/ip_policies/${policyId}/rules`, { rules })).status).toBe(200);
  }
}

/** Every resource of every family, with its path. */
async function everything(api: TestApi): Promise<Found[]> {
  const found: Found[] = [];
  for (const family of FAMILIES) {
    for (const row of await api.rows(`select * from ${family.table}`)) {
      const above = family.parent ? String(row[family.parent.parameter]) : '';
      const id = String(row.id);
      found.push({ family, id, path: `${family.path.replace(/\{\w+\}/, above)}/${id}` });
    }
  }
  return found;
}

/** The items of all lists, by id. Expects exactly the resources in the database. */
async function listedIn(api: TestApi, found: readonly Found[]): Promise<ReadonlyMap<string, unknown>> {
  const listed = new Map<string, unknown>();
  const lists = new Map(found.map(({ family, path }) => [path.slice(0, path.lastIndexOf('/')), family]));
  for (const [path, { collection }] of lists) {
    const items = z.array(view).parse((await api.admin.get(path)).as(z.looseObject({}))[collection]);
    for (const item of items) listed.set(item.id, item);
  }
  expect([...listed.keys()].sort()).toEqual(found.map(({ id }) => id).sort());
  return listed;
}
