/** Every field that somebody changes at the API, and every resource and module that is deleted there, is back by a resync. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { choicesOf, driftsOf } from '../../dev/fixtures/field-values.ts';
import { kindRow, kindRows } from '../../dev/fixtures/kinds.ts';
import { fill, type Values } from '../../dev/fixtures/placeholders.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { numbered } from '../../dev/fixtures/samples.ts';
import { modulesRows } from '../../dev/fixtures/story-rows.ts';
import { familyFields } from '../../src/operator/kinds/family-fields.ts';
import { ipPolicyRule } from '../../src/resources/ip-policy-rule.ts';
import { isDeep } from '../tier.ts';
import { API_KEY, eventually, manifest, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'drift-fields', settings: { resyncMs: 300 } });
const { client } = stack;
const post = postTo(stack.api.url, API_KEY);

const record = z.record(z.string(), z.unknown());

/** Changed together, or (`npm run test:deep`) one after the other. */
const changesOf = <D extends { member: string; body: Values }>(drifts: readonly D[]) =>
  isDeep
    ? drifts.map(({ member, body }) => ({ members: [member], body }))
    : [{ members: drifts.map(({ member }) => member), body: Object.assign({}, ...drifts.map(({ body }) => body)) }];

/** An Event says that these were set back. */
const isReported = (name: string, members: readonly string[]) =>
  eventually(async () => {
    const told = (await stack.events(name)).filter(({ reason }) => reason === 'DriftCorrected');
    const named = told.map(({ message }) => message.match(/(?<=spec\.)[\w.]+/g) ?? []);
    expect(named).toContainEqual(expect.arrayContaining([...members]));
  });

test.concurrent.for(kindRows.map((row, at) => ({ row, name: row.name, at })))(
  'each field of $name is set back, and named; what is deleted is made again',
  async ({ row, at }) => {
    const name = `${row.type.plural}-drifted`;
    const { another, drifts } = await row.declare(post, 1 + at);
    const { get, update, delete: remove } = row.kind.calls(client);
    await stack.apply(...another.objects, manifest(row, name, another.spec));
    const id = String((await stack.ready(row.type, name)).status.id);
    const before = await get(id);
    for (const { members, body } of changesOf(drifts)) {
      expect(await update(id, body)).not.toEqual(before);
      await eventually(async () => expect(await get(id), `${members}`).toEqual(before));
      await isReported(name, members);
    }

    await remove(id);
    const again = await eventually(async () => {
      const { status } = await stack.ready(row.type, name);
      expect(status.id).not.toBe(id);
      return String(status.id);
    });
    expect(await get(again)).toMatchObject(another.remote);
    const message = `${id} no longer exists; creating a new one`;
    await eventually(async () =>
      expect(await stack.events(name)).toContainEqual({ type: 'Warning', reason: 'ExternalResourceGone', message }),
    );
    await stack.remove(row.type, name);
  },
);

test.concurrent('each field of a rule of an IP policy is set back', async () => {
  const row = kindRow('IPPolicy');
  const fields = familyFields(ipPolicyRule);
  const { title, samples } = ipPolicyRule;
  const drifts = driftsOf(fields, samples.full, (given) => choicesOf(given, title, [samples.change, samples.least]));
  const { ip_policy_id: _, ...rule } = fill(samples.full, { ...numbered(1), ip_policy: { id: '' } });
  await stack.apply(manifest(row, 'rule-drifted', { rules: [rule] }));
  const id = String((await stack.ready(row.type, 'rule-drifted')).status.id);
  const rules = async () =>
    (await client.rulesOf(id)).map(({ cidr, action, description, metadata }) => ({
      cidr,
      action,
      description,
      metadata,
    }));
  for (const { members, body } of changesOf(drifts)) {
    const [current] = await client.rulesOf(id);
    await client.ipPolicyRules.update(current?.id ?? '', body);
    await eventually(async () => expect(await rules(), `${members}`).toEqual([rule]));
    await isReported('rule-drifted', ['rules']);
  }
  expect(drifts.map(({ member }) => member).toSorted()).toEqual(['action', 'cidr', 'description', 'metadata']);
  await stack.remove(row.type, 'rule-drifted');
});

describe('modules', () => {
  test.concurrent.for(modulesRows.map((row, at) => ({ row, name: row.name, at })))(
    'each setting of $name is set back, and named; a module that is deleted is set again',
    async ({ row, at }) => {
      const name = `${row.type.plural}-drifted`;
      const { whole, drifts, ownerId } = await row.declare(post, 100 + at);
      const external = row.attached.external(client);
      const modules = async () => z.object({ modules: record }).parse(await external.observe(ownerId)).modules;
      await stack.apply(manifest(row, name, whole.spec));
      await stack.ready(row.type, name);
      const before = await modules();
      expect(before).toMatchObject(record.parse(whole.remote.modules));
      for (const { name: module, member, fields, calls } of row.attached.modules) {
        const own = drifts.filter((drift) => drift.module.name === module);
        expect(new Set(own.map((drift) => drift.member))).toEqual(
          new Set(fields.map((each) => `${member}.${each.member}`)),
        );
        for (const { members, body } of changesOf(own)) {
          const changed = await calls(client, ownerId).put({ ...record.parse(whole.body[module]), ...body });
          expect(changed).not.toEqual(before[module]);
          await eventually(async () => expect(await modules(), `${members}`).toEqual(before));
          await isReported(name, members);
        }
        await calls(client, ownerId).delete();
        await eventually(async () => expect(await modules(), member).toEqual(before));
        await isReported(name, [member]);
      }
      await stack.remove(row.type, name);
    },
  );
});
