/** Lists that are limited to some resources. The conformance rows have one rule per filter. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { afterPrefix } from '../../../src/api/store/page-statement.ts';
import { apiKey } from '../../../src/resources/api-key.ts';
import { MAX_PREFIX } from '../../../src/resources/definition/filter.ts';
import { firstIdAt, newId, timeOfId } from '../../../src/resources/definition/id.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { BASE, type Caller, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;

const page = z.object({ next_page_uri: z.string().nullable() }).loose();
const rows = z.array(z.looseObject({ id: z.string(), metadata: z.string().nullish() }));

/** Everything in a list, page by page. `between` runs after each page. */
async function walk(
  caller: Caller,
  list: string,
  query: Record<string, string>,
  between: (ids: string[]) => Promise<unknown> = async () => undefined,
) {
  const found: z.output<typeof rows> = [];
  let next: string | null = `/${list}?${new URLSearchParams({ ...query, limit: '2' })}`;
  while (next !== null) {
    const body: z.output<typeof page> = (await caller.get(next.replace(BASE, ''))).as(page);
    const part = rows.parse(body[list]);
    found.push(...part);
    next = body.next_page_uri;
    await between(part.map(({ id }) => id));
  }
  return found;
}

const withPrefix = (prefix: string) => ({ 'filter[metadata_prefix]': prefix });

async function policies(texts: readonly string[]): Promise<void> {
  for (const metadata of texts) await admin.post('/ip_policies', { metadata });
}

describe('a list by the beginning of metadata', () => {
  test('takes every character as itself, and has the texts in order of their code points, last first', async () => {
    const texts = ['p%', 'p%x', 'p_x', 'pax', 'P%x', 'p', 'p%\u{10ffff}', 'p%\ud7ff', 'p%\ue000', 'p%\n"', 'p%é'];
    await policies(texts);
    const found = await walk(admin, 'ip_policies', withPrefix('p%'));
    const matching = texts.filter((text) => text.startsWith('p%'));
    const byBytes = matching.toSorted((a, b) => Buffer.compare(Buffer.from(b), Buffer.from(a)));
    expect(found.map(({ metadata }) => metadata)).toEqual(byBytes);
  });

  test('is complete where texts are equal in what is indexed, newest first', async () => {
    const start = '🦀'.repeat(MAX_PREFIX / 2).concat('x'.repeat(MAX_PREFIX / 2));
    await policies(['c', 'a', 'b', 'd', 'e'].map((end) => start + end));
    const found = await walk(admin, 'ip_policies', withPrefix('🦀'));
    expect(found.map(({ metadata }) => metadata?.at(-1))).toEqual(['e', 'd', 'b', 'a', 'c']);
  });

  test('goes on where it was although what has been read is deleted', async () => {
    await policies(['gone-1', 'gone-2', 'gone-3', 'gone-4', 'gone-5']);
    const found = await walk(admin, 'ip_policies', withPrefix('gone-'), async (ids) => {
      for (const id of ids) expect((await admin.delete(`/ip_policies/${id}`)).status).toBe(204);
    });
    expect(found.map(({ metadata }) => metadata)).toEqual(['gone-5', 'gone-4', 'gone-3', 'gone-2', 'gone-1']);
    expect(await walk(admin, 'ip_policies', withPrefix('gone-'))).toEqual([]);
  });

  test.each([
    ['a', 'b'],
    ['a\ud7ff', 'a\ue000'],
    ['a\u{10ffff}', 'b'],
  ])('ends before the text that follows all of them: %j, %j', (prefix, after) => {
    expect(afterPrefix(prefix)).toBe(after);
  });

  test('finds a beginning of nothing but the largest character', async () => {
    await policies(['\u{10ffff}\u{10ffff}']);
    expect(await walk(admin, 'ip_policies', withPrefix('\u{10ffff}'))).toHaveLength(1);
  });
});

describe('a list of owned resources', () => {
  test('shows a caller who is no admin nothing of others, whatever the filter', async () => {
    const [one, other] = [await api.newBot(), await api.newBot()];
    for (const caller of [one, other]) await caller.post('/credentials', { metadata: 'mine' });
    const seen = async (query: Record<string, string>) =>
      (await walk(one, 'credentials', query)).map((row) => row.owner_id);
    expect(await seen({ 'filter[owner_id]': one.id })).toEqual([one.id]);
    expect(await seen({ 'filter[owner_id]': other.id })).toEqual([]);
    expect(await seen(withPrefix('mi'))).toEqual([one.id]);
    expect(await seen({ ...withPrefix('mi'), 'filter[owner_id]': other.id })).toEqual([]);
    const both = await walk(admin, 'credentials', { ...withPrefix('mi'), 'filter[owner_id]': other.id });
    expect(both.map((row) => row.owner_id)).toEqual([other.id]);
  });
});

describe('a filter', () => {
  test('finds a domain in any spelling', async () => {
    const created = await admin.post('/reserved_domains', { domain: 'bücher.example.com' });
    expect(created.status).toBe(201);
    expect(await walk(admin, 'reserved_domains', { 'filter[domain]': 'BÜCHER.example.com' })).toHaveLength(1);
    expect(await walk(admin, 'reserved_domains', { 'filter[domain]': 'example.com' })).toEqual([]);
  });

  test('goes with a time of creation', async () => {
    const made = (await admin.post('/users', { name: 'Eve' })).as(z.object({ created_at: z.string() }));
    const named = { 'filter[name]': 'Eve' };
    expect(await walk(admin, 'users', { ...named, created_after: made.created_at })).toEqual([]);
    expect(await walk(admin, 'users', { ...named, created_before: '2999-01-01T00:00:00Z' })).toHaveLength(1);
  });

  const cursor = newId('ipp');
  const before = `before_id=${cursor}`;
  test.each([
    ['users', 'filter[name]=', '?filter[name]', 'must not be empty'],
    ['users', 'filter[name]=a&filter[name]=b', '?filter[name]', 'must be given only once'],
    ['ip_policies', 'filter[metadata_prefix]=', '?filter[metadata_prefix]', 'must not be empty'],
    ['ip_policies', `filter[metadata_prefix]=${'x'.repeat(129)}`, '?filter[metadata_prefix]', /at most 128/],
    ['ip_policies', 'filter[metadata_prefix]=%00', '?filter[metadata_prefix]', /NUL/],
    [
      'ip_policies',
      'filter[metadata_prefix]=a&created_after=2026-01-01T00:00:00Z',
      '?created_after',
      /cannot be combined/,
    ],
    ['ip_policies', `filter[metadata_prefix]=a&${before}`, '?before_metadata', /is required with before_id/],
    ['ip_policies', 'filter[metadata_prefix]=a&before_metadata=ab', '?before_id', /is required with before_metadata/],
    ['ip_policies', `filter[metadata_prefix]=a&${before}&before_metadata=b`, '?before_metadata', /must begin with/],
    ['ip_policies', `${before}&before_metadata=b`, '?before_metadata', /requires filter\[metadata_prefix\]/],
    ['ip_policies', 'filter=a', '?filter', /^unknown query parameter; known are .*filter\[metadata_prefix\]/],
    [
      'reserved_domains',
      'filter[domain]=a.b.com&filter[metadata_prefix]=a',
      '?filter[domain]',
      /^cannot be combined with/,
    ],
    ['endpoint_configurations', 'filter[type]=udp', '?filter[type]', /must be "http"/],
    ['credentials', 'filter[owner_id]=me', '?filter[owner_id]', /usr_ or bot_/],
  ])('of %s is refused by name: %s', async (list, query, name, reason) => {
    const { error } = await admin.get(`/${list}?${query}`);
    expect(error.details[name]).toMatch(reason);
  });
});

describe('the time of creation', () => {
  test('is that of the id, by which lists compare it', async () => {
    for (const [path, view] of [
      ['/ip_policies', ipPolicy.view],
      ['/api_keys', apiKey.view],
    ] as const) {
      const { id, created_at } = (await admin.post(path, {})).as(view);
      expect(created_at).toBe(timeOfId(id));
    }
    const policy = (await admin.post('/ip_policies', {})).as(ipPolicy.view);
    const rules = [{ cidr: '10.0.0.0/8', action: 'allow' }];
    const replaced = (await admin.put(`/ip_policies/${policy.id}/rules`, { rules })).as(
      z.object({ ip_policy_rules: z.array(z.object({ id: z.string(), created_at: z.string() })) }),
    );
    for (const { id, created_at } of replaced.ip_policy_rules) expect(created_at).toBe(timeOfId(id));
  });

  test('of the first and the last year has ids as well', () => {
    expect(firstIdAt('ipp', new Date('0001-01-01T00:00:00Z')) < newId('ipp')).toBe(true);
    expect(firstIdAt('ipp', new Date('9999-12-31T23:59:59.999Z')) > newId('ipp')).toBe(true);
  });
});
