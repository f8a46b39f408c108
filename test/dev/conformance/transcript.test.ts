import { expect, test } from 'vitest';
import { created, get, idOf, ok, post, type Row, refused } from '../../../dev/conformance/row.ts';
import { transcript } from '../../../dev/conformance/transcript.ts';
import { conformancePages } from '../../../scripts/conformance-pages.ts';

const row = (rest: Partial<Row>): Row => ({ rule: 'A rule', ask: get('/things'), answer: ok(), ...rest });

test.each<[string, Partial<Row>, string[]]>([
  ['a request has its answer below it', {}, ['GET /things', '← 200']],
  [
    'requests that come first have names',
    { given: { one: post('/things', {}) }, ask: get('/things/{one.id}') },
    ['one = POST /things {}', 'GET /things/{one.id}', '← 200'],
  ],
  [
    'the same request several times is shown once',
    { given: Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, post('/things')])) },
    ['a, b, … d = POST /things', 'GET /things', '← 200'],
  ],
  ['who asks is said, unless it is an admin', { ask: get('/things', { as: 'bot' }) }, ['bot: GET /things', '← 200']],
  [
    'headers come before the body',
    {
      ask: post('/things', {}, { headers: { 'if-match': '"1"' } }),
      answer: { ...created({}), headers: { etag: '"1"' } },
    },
    ['POST /things', '  if-match: "1"', '  {}', '← 201', '  etag: "1"', '  {}'],
  ],
  [
    'of an error there is the code, and the details if there are any',
    { answer: refused('NOT_FOUND'), later: [[get('/x'), refused('NOT_FOUND', { id: /x/ })]] },
    ['GET /things', '← 404 NOT_FOUND', '', 'GET /x', '← 404 NOT_FOUND {"id": /x/}'],
  ],
  [
    'what a text must look like is shown as such',
    { answer: ok({ id: idOf('ipp'), gone: undefined }) },
    ['GET /things', '← 200 {"id": <ipp_…>, "gone": <absent>}'],
  ],
  [
    'long texts and lists are cut',
    { answer: ok({ text: 'ü'.repeat(100), list: [1, 2, 3, 4] }) },
    ['GET /things', `← 200 {"text": "${'ü'.repeat(20)}… (200 bytes)", "list": [1, 2, 3, … 4 in all]}`],
  ],
])('%s', (_, rest, lines) => {
  expect(transcript(row(rest))).toBe(lines.join('\n'));
});

test('what the contract says of a family and what extends it share a page', () => {
  const pages = conformancePages([
    { title: 'HTTPS edges', rows: [row({ rule: 'One' })] },
    { title: 'Extension: new things', rows: [row({ rule: 'Two' })] },
    { title: 'Extension: HTTPS edges', rows: [row({ rule: 'A __proto__ <b>' })] },
  ]);
  expect(pages.map(({ file }) => file)).toEqual(['README.md', 'https-edges.md', 'new-things.md']);
  expect(pages[0]?.text).toContain('| [HTTPS edges](https-edges.md) | 2 |\n');
  expect(pages[0]?.text).toContain('3 rules in all.');
  expect(pages[1]?.text).toMatch(/^# HTTPS edges\n.*### One\n.*## Extension\n.*### A \\_\\_proto\\_\\_ \\<b\\>\n/s);
  expect(pages[2]?.text).toContain('# New things\n\nAn extension:');
});
