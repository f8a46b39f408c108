/**
 * The same as families.test.ts for objects that are replaced as a whole: modules of edges and routes, and rule sets.
 * Each body is the richest one among the rows of the conformance tests.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Step } from '../../../dev/conformance/row.ts';
import { SECTIONS } from '../../../dev/conformance/sections.ts';
import { fill } from '../../../dev/fixtures/placeholders.ts';
import { OPERATIONS } from '../../../src/api/families/all.ts';
import { readContract } from '../../conformance/coverage.ts';
import { prepare } from '../../conformance/play.ts';
import { richest } from '../../conformance/valid-request.ts';
import { createWorld } from '../../conformance/world.ts';
import { document } from '../openapi/openapi-check.ts';
import { anotherThan, deleteTwice, type Json, json, observer, SPELLINGS } from './observer.ts';

const world = await createWorld();
const { admin } = world.api;
const { read, expectNoChange, expectChange, expectRefused } = observer(world.api);
const contract = readContract(document);

/** The PUT operations whose path also has a GET. A claim of a resource is no object: a header says whose it is. */
const REPLACED = OPERATIONS.filter(
  ({ method, path, body, tag }) =>
    method === 'PUT' &&
    body !== undefined &&
    tag !== 'Resource managers' &&
    OPERATIONS.some((other) => other.method === 'GET' && other.path === path),
);

test('there are modules and rule sets to test', () => {
  expect(REPLACED.length).toBeGreaterThan(5);
});

describe.each(REPLACED.map((operation) => [operation.path, operation] as const))(
  'the resource at %s',
  (path, operation) => {
    const documented = contract.operations.find(({ name }) => name === `PUT ${path}`);
    if (!documented) throw new Error(`PUT ${path} is not documented`);
    const canBeDeleted = OPERATIONS.some((other) => other.method === 'DELETE' && other.path === path);
    const members = Object.entries(
      z.object({ shape: z.record(z.string(), z.instanceof(z.ZodType)) }).parse(operation.body).shape,
    );

    /** A valid PUT request to an address where nothing was put yet. */
    async function ready(): Promise<Step & { body: Json }> {
      const row = richest(documented as NonNullable<typeof documented>, contract, SECTIONS);
      const step = fill(row.ask, await prepare(row, world.callers, world.values()));
      return { ...step, body: json.parse(step.body) };
    }
    async function put(): Promise<{ address: string; sent: Json; view: Json }> {
      const { path: address, body: sent } = await ready();
      expect((await admin.put(address, sent)).status).toBe(200);
      return { address, sent, view: (await read(address)).body };
    }

    test('does not change when it is sent again or sent back', async () => {
      const { address, sent, view } = await put();
      await expectNoChange('PUT', address, sent, 'again');
      for (const { name, of } of SPELLINGS) {
        await expectNoChange('PUT', address, of(view), name);
        await expectNoChange('PUT', address, { ...json.parse(of(view)), ...sent }, `${name}, with what was sent`);
      }
    });

    test('refuses other values of read-only members, with their name and the reason', async () => {
      const { address, sent, view } = await put();
      for (const [name, { standsFor }] of Object.entries(operation.readOnly?.members ?? {})) {
        const other = { [name]: anotherThan(view[name]) };
        const reason = /^(?:is set by the service|shows \w+; set that)$/;
        await expectRefused('PUT', address, { ...sent, ...other }, `/${name}`, reason);
        if (!standsFor) continue;
        const { [standsFor.member]: _, ...rest } = sent;
        const shown = view[name];
        // Keeps the form, since an error inside it would be reported at its own place.
        const others = (list: unknown[]) => (operation.readOnly?.inside.rules ? list.slice(1) : list.map(anotherThan));
        const changed = Array.isArray(shown) ? others(shown) : anotherThan(shown);
        await expectRefused('PUT', address, { ...rest, [name]: changed }, `/${name}`, reason);
        await expectRefused('PUT', address, { ...rest, [name]: 'nonsense' }, `/${name}`, reason);
      }
    });

    if (operation.readOnly?.inside.rules)
      test('accepts another CIDR block when all else is sent back', async () => {
        const { address } = await put();
        for (const [n, { name, of }] of SPELLINGS.entries()) {
          const { ip_policy_rules } = json.parse(of((await read(address)).body));
          const [first, ...others] = z.array(json).parse(ip_policy_rules);
          const changed = { ...first, cidr: `198.51.100.${n}/32` };
          const after = await expectChange('PUT', address, { rules: [changed, ...others] }, name);
          expect(after.ip_policy_rules).toContainEqual(expect.objectContaining({ cidr: changed.cidr }));
        }
      });

    test('treats a null member as left out, and is as before when it is put again', async () => {
      for (const [name, schema] of members) {
        if (!schema.safeParse(undefined).success) continue;
        const { address, sent, view } = await put();
        const { [name]: _, ...rest } = sent;
        const without = json.parse(JSON.parse((await admin.put(address, rest)).text));
        await expectNoChange('PUT', address, { ...rest, [name]: null }, name);
        // No module has an optional id, enum or time, for which "" would mean null.
        const empty = { ...rest, [name]: '' };
        if (schema.safeParse('').success) expect((await admin.put(address, empty)).as(json)[name]).toBe('');
        else await expectRefused('PUT', address, empty, `/${name}`, /^must /);
        if (JSON.stringify(without) === JSON.stringify(view)) continue;
        expect(await expectChange('PUT', address, sent, name)).toEqual(view);
      }
    });

    if (canBeDeleted)
      test('is deleted once, and can be restored from what was read', async () => {
        const { address, view } = await put();
        await deleteTwice(admin, address);
        for (const { name, of } of SPELLINGS) {
          expect((await admin.send('PUT', address, { body: of(view) })).as(json), name).toEqual(view);
          expect((await read(address)).body, name).toEqual(view);
          await admin.delete(address);
        }
      });

    if (canBeDeleted)
      test('accepts what was read from another one', async () => {
        const [one, other] = [await put(), await put()];
        expect((await admin.put(one.address, other.view)).status).toBe(200);
        expect((await read(one.address)).body).toEqual(other.view);
      });
  },
);

describe('a source of an event subscription', () => {
  async function source() {
    const { id } = (await admin.post('/event_subscriptions', {})).as(z.looseObject({ id: z.string() }));
    const list = `/event_subscriptions/${id}/sources`;
    const made = (await admin.post(list, { type: 'ip_policy_created.v0', uri: null })).as(json);
    return { list, made, address: `${list}/ip_policy_created.v0` };
  }

  test('does not change when it is sent back', async () => {
    const { made, address } = await source();
    const { body } = await read(address);
    expect(body).toEqual(made);
    for (const { name, of } of SPELLINGS) await expectNoChange('PATCH', address, of(body), name);
  });

  test('refuses another address and another type', async () => {
    const { list, made, address } = await source();
    await expectRefused('PATCH', address, { uri: `${made.uri}x` }, '/uri', /^is set by the service$/);
    await expectRefused('PATCH', address, { type: 'user_created.v0' }, '/type', /^must equal the "type" in the path$/);
    const { error } = await admin.post(list, { type: 'user_created.v0', uri: made.uri });
    expect(error.details['/uri']).toBe('is set by the service');
  });

  test('is refused with another address in the list of its subscription as well', async () => {
    const { list, made } = await source();
    const address = list.replace('/sources', '');
    const other = { sources: [made, { uri: `${made.uri}x`, type: 'user_created.v0' }] };
    await expectRefused('PATCH', address, other, '/sources/1/uri', /^is set by the service$/);
    const added = { sources: [made, { type: 'user_created.v0', uri: '' }] };
    await expectChange('PATCH', address, added, 'a second source');
  });

  test('is deleted once', async () => {
    await deleteTwice(admin, (await source()).address);
  });
});
