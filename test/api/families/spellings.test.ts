/** Values come back as they were sent, except for the normalisation that docs/normalisation.md lists. */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LEAST_OF_MODULES } from '../../../dev/fixtures/modules.ts';
import { fill } from '../../../dev/fixtures/placeholders.ts';
import { createSample, listPath, neededBy, numbered } from '../../../dev/fixtures/samples.ts';
import {
  CHOSEN,
  FORMATS,
  formatsOf,
  isReadBack,
  type Owner,
  requestFields,
  type Spelling,
  spellingValues,
} from '../../../dev/fixtures/spellings.ts';
import type { Resource } from '../../../src/resources/definition/resource.ts';
import { endpointConfiguration } from '../../../src/resources/endpoint-configuration.ts';
import { startTestApi } from '../harness.ts';

const { admin } = await startTestApi();
const view = z.looseObject({ id: z.string(), uri: z.url() });
const ref = z.object({ id: z.string(), uri: z.url() });
const post = async (path: string, body: object) => (await admin.post(path, body)).as(view);

const values = {
  ...(await spellingValues()),
  https_configuration: await post(endpointConfiguration.path, { type: 'https' }),
};
let n = 20_000;

const fields = [...requestFields()];

/** Sends one member; returns what was sent, what GET shows under its name, and what was expected. */
async function exchange(of: Owner, name: string, { sent, shown = sent, with: others = {} }: Spelling) {
  const field = of.fields[name];
  const body = { ...others, [name]: sent };
  const { path, known } = 'view' in of && 'samples' in of ? await inFamily(of, body) : await inModule(of, body);
  const got = (await admin.get(path)).as(z.looseObject({}))[field?.as ?? name];
  return { sent: fill(sent, known), got: field?.as ? withoutAddress(got) : got, expected: fill(shown, known) };
}

/** Reduces a Ref, which has an address as well, to the id that was sent. */
const withoutAddress = (shown: unknown): unknown =>
  Array.isArray(shown) ? shown.map(withoutAddress) : (ref.safeParse(shown).data?.id ?? shown);

async function inFamily(of: Resource, body: Readonly<Record<string, unknown>>) {
  const number = n++;
  const later = Object.fromEntries(Object.entries(body).filter(([name]) => of.fields[name]?.onCreate === 'derived'));
  const now = Object.fromEntries(Object.entries(body).filter(([name]) => !(name in later)));
  const needed: Record<string, unknown> = { ...values, ...numbered(number) };
  const least = { ...of.samples.least, ...now };
  for (const other of neededBy(of, { ...least, ...later })) {
    needed[other.name] ??= await post(fill(listPath(other), needed), fill(other.samples.least, needed));
  }
  const { path, made } = await createSample(
    post,
    { ...of, samples: { ...of.samples, least } },
    'least',
    number,
    needed,
  );
  const known = { ...needed, made };
  const at = `${path}/${made.id}`;
  if (Object.keys(later).length > 0) expect((await admin.patch(at, fill(later, known))).status).toBe(200);
  return { path: at, known };
}

async function inModule(of: Owner, body: Readonly<Record<string, unknown>>) {
  if (!('of' in of)) throw new Error('not a module');
  const whole = { ...LEAST_OF_MODULES[of.title], ...body };
  const number = n++;
  const known: Record<string, unknown> = { ...values, ...numbered(number) };
  for (const other of neededBy(of.of, whole)) {
    known[other.name] ??= await post(fill(listPath(other), known), fill(other.samples.least, known));
  }
  const { path, made } = await createSample(post, of.of, 'least', number, known);
  const at = `${path}/${made.id}/${of.name}`;
  const reply = await admin.put(at, fill(whole, known));
  expect(reply.status, reply.text).toBe(200);
  return { path: at, known };
}

describe('a value that is sent', () => {
  test.each(fields.filter(({ field }) => isReadBack(field)).map((each) => [each.key, each] as const))(
    'as %s comes back as the table says',
    async (key, { of, name }) => {
      const formats = formatsOf(key);
      expect(formats.length, `${key} has no spellings in dev/fixtures/spellings.ts`).toBeGreaterThan(0);
      for (const { rule, spellings } of formats) {
        let differs = false;
        for (const spelling of spellings) {
          const { sent, got, expected } = await exchange(of, name, spelling);
          expect(got).toEqual(expected);
          differs ||= !isDeepStrictEqual(got, sent);
        }
        expect(differs, `${key} is ${differs ? 'not ' : ''}listed as normalised`).toBe(rule !== undefined);
      }
    },
  );

  const nullable = fields.filter(({ field }) => field.input.safeParse(null).success && isReadBack(field));
  test.each(nullable.map((each) => [each.key, each] as const))(
    'as null for %s comes back as its default',
    async (key, { of, name, field }) => {
      const { got } = await exchange(of, name, { sent: null });
      if (key in CHOSEN) expect(got).not.toBeNull();
      // A member that is optional in responses is left out.
      else expect(got ?? null).toEqual(field.initial);
    },
  );
});

test('the table lists only fields that exist', () => {
  const keys = fields.map(({ key }) => key);
  const dead = FORMATS.flatMap(({ fields: listed }) => listed).filter(
    (each) => !keys.some((key) => key === each || (each.startsWith('*') && key.endsWith(each.slice(1)))),
  );
  expect(dead).toEqual([]);
  expect(Object.keys(CHOSEN).filter((key) => !keys.includes(key))).toEqual([]);
});
