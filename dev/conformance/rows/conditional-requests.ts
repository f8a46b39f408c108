import {
  del,
  get,
  invalid,
  NOBODY,
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
      rule: 'A change gives the resource another tag, and reading it shows that',
      given: made,
      ask: patch(one, { description: 'b' }),
      answer: { ...ok({ description: 'b' }), headers: { etag: '"2"' } },
      later: [tagged(get(one), 200, '"2"')],
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
      rule: 'If-Match with * only requires that the resource exists',
      given: changed,
      ask: patch(one, { description: 'c' }, match('*')),
      answer: ok({ description: 'c' }),
      later: [[patch(`/ip_policies/ipp_${NOBODY}`, {}, match('*')), refused('NOT_FOUND')]],
    },
    unchanged('Reading with the current tag in If-None-Match returns 304 without a body', '"1"'),
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
      rule: 'A create ignores both headers',
      ask: post('/ip_policies', {}, { headers: { 'if-match': '7', 'if-none-match': '*' } }),
      answer: { status: 201, headers: { etag: '"1"' } },
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
  ],
};
