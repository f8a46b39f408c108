import {
  del,
  get,
  invalid,
  noContent,
  ok,
  patch,
  post,
  put,
  type Row,
  refused,
  type Section,
  type Step,
} from '../row.ts';

const made = { made: post('/ip_policies', { description: 'a' }) };
const one = '/ip_policies/{made.id}';
const set = `${one}/rules`;
const match = (tags: string) => ({ headers: { 'if-match': tags } });
const unless = (tags: string) => ({ headers: { 'if-none-match': tags } });
const tagged = (step: Step, status: number, etag: string) => [step, { status, headers: { etag } }] as const;
const rule = { ip_policy_id: '{made.id}', cidr: '10.0.0.0/8', action: 'allow' };
const stale = refused('PRECONDITION_FAILED', { etag: '"2"' });
const changed = { ...made, changed: patch(one, { description: 'b' }) };

const unchanged = (rule: string, tags: string): Row => ({
  rule,
  given: made,
  ask: get(one, unless(tags)),
  answer: { status: 304, headers: { etag: '"1"' } },
});

const malformed = (header: string, step: Step): Row => ({
  rule: `${header} must have entity tags in double quotes, or *`,
  given: made,
  ask: step,
  answer: invalid({ [header]: /double quotes/ }),
});

export const conditionalRequests: Section = {
  title: 'Extension: conditional requests',
  rows: [
    {
      rule: 'A resource has a tag, which is in the answer to creating, reading and changing it',
      ask: post('/ip_policies', {}),
      answer: { status: 201, headers: { etag: '"1"' } },
    },
    {
      rule: 'A change gives the resource another tag, and reading it shows that',
      given: made,
      ask: patch(one, { description: 'b' }),
      answer: { ...ok({ description: 'b' }), headers: { etag: '"2"' } },
      later: [tagged(get(one), 200, '"2"')],
    },
    {
      rule: 'A change that has no effect keeps the tag',
      given: made,
      ask: patch(one, { description: 'a' }),
      answer: { ...ok({ description: 'a' }), headers: { etag: '"1"' } },
    },
    {
      rule: 'A PATCH with If-Match takes effect only at that revision',
      given: changed,
      ask: patch(one, { description: 'c' }, match('"1"')),
      answer: stale,
      later: [
        [get(one), ok({ description: 'b' })],
        [patch(one, { description: 'c' }, match('"2"')), ok({ description: 'c' })],
      ],
    },
    {
      rule: 'A PUT with If-Match takes effect only at that revision',
      given: changed,
      ask: put(set, { rules: [] }, match('"1"')),
      answer: stale,
      later: [[put(set, { rules: [] }, match('"2"')), ok({ ip_policy_rules: [] })]],
    },
    {
      rule: 'A DELETE with If-Match takes effect only at that revision',
      given: changed,
      ask: del(one, match('"1"')),
      answer: stale,
      later: [
        [get(one), ok({ description: 'b' })],
        [del(one, match('"2"')), noContent],
      ],
    },
    {
      rule: 'Detaching with If-Match takes effect only at that revision',
      given: { made: post('/reserved_domains', { domain: '{unique}.example.net' }) },
      ask: del('/reserved_domains/{made.id}/certificate', match('"2"')),
      answer: refused('PRECONDITION_FAILED', { etag: '"1"' }),
      later: [[del('/reserved_domains/{made.id}/certificate', match('"1"')), noContent]],
    },
    {
      rule: 'If-Match with * asks only that the resource exists',
      given: changed,
      ask: patch(one, { description: 'c' }, match('*')),
      answer: ok({ description: 'c' }),
      later: [[patch('/ip_policies/ipp_01k9zq3v5hf8svx2r4c6y7n0wd', {}, match('*')), refused('NOT_FOUND')]],
    },
    {
      rule: 'If-Match may have several tags, one of which must match',
      given: changed,
      ask: patch(one, { description: 'c' }, match('"7", "2"')),
      answer: ok({ description: 'c' }),
    },
    {
      rule: 'A weak tag never matches in If-Match',
      given: changed,
      ask: patch(one, { description: 'c' }, match('W/"2"')),
      answer: stale,
    },
    {
      rule: 'If-Match is checked even if nothing would change',
      given: changed,
      ask: patch(one, {}, match('"1"')),
      answer: stale,
    },
    unchanged('Reading with the current tag in If-None-Match returns 304 without a body', '"1"'),
    unchanged('If-None-Match may have several tags', '"7", "1"'),
    unchanged('A weak tag matches in If-None-Match', 'W/"1"'),
    unchanged('If-None-Match with * matches whatever exists', '*'),
    {
      rule: 'Reading with another tag in If-None-Match returns the resource',
      given: changed,
      ask: get(one, unless('"1"')),
      answer: { ...ok({ description: 'b' }), headers: { etag: '"2"' } },
    },
    malformed('If-Match', patch(one, {}, match('1'))),
    malformed('If-None-Match', get(one, unless('1'))),
    {
      rule: 'A create ignores both headers, whatever they say',
      ask: post('/ip_policies', {}, { headers: { 'if-match': '7', 'if-none-match': '*' } }),
      answer: { status: 201, headers: { etag: '"1"' } },
    },
    {
      rule: 'A change ignores If-None-Match, and reading ignores If-Match',
      given: made,
      ask: patch(one, { description: 'b' }, unless('*')),
      answer: ok({ description: 'b' }),
      later: [
        [put(set, { rules: [] }, unless('*')), ok({ ip_policy_rules: [] })],
        [get(one, match('"7"')), ok({ description: 'b' })],
      ],
    },
    {
      rule: 'The tag of an IP policy covers its rules',
      given: made,
      ask: post('/ip_policy_rules', rule),
      answer: { status: 201 },
      later: [
        tagged(get(one), 200, '"2"'),
        tagged(get(set), 200, '"2"'),
        tagged(get(set, unless('"2"')), 304, '"2"'),
        [put(set, { rules: [] }, match('"1"')), stale],
        tagged(put(set, { rules: [] }, match('"2"')), 200, '"3"'),
        tagged(get(one), 200, '"3"'),
      ],
    },
    {
      rule: 'The tag of an edge covers its modules, which share it',
      given: { made: post('/edges/tls', {}), policy: post('/ip_policies', {}) },
      ask: put('/edges/tls/{made.id}/ip_restriction', { ip_policy_ids: ['{policy.id}'] }, match('"1"')),
      answer: { status: 200, headers: { etag: '"2"' } },
      later: [
        tagged(get('/edges/tls/{made.id}'), 200, '"2"'),
        tagged(get('/edges/tls/{made.id}/ip_restriction'), 200, '"2"'),
        [del('/edges/tls/{made.id}/ip_restriction', match('"1"')), stale],
      ],
    },
    {
      rule: 'The tag of an event subscription covers its sources',
      given: { made: post('/event_subscriptions', {}) },
      ask: post('/event_subscriptions/{made.id}/sources', { type: 'ip_policy_created.v0' }),
      answer: { status: 201 },
      later: [
        tagged(get('/event_subscriptions/{made.id}'), 200, '"2"'),
        tagged(get('/event_subscriptions/{made.id}/sources/ip_policy_created.v0'), 200, '"2"'),
      ],
    },
  ],
};
