import { expect, test } from 'vitest';
import { eventGuard } from '../../../../src/api/events/wire/event-guard.ts';
import { redactor, secretsIn } from '../../../../src/api/events/wire/redaction.ts';
import { createSender } from '../../../../src/api/events/wire/sender.ts';
import { openTarget } from '../../../../src/api/events/wire/targets.ts';
import { destination, EVENT, never, receiver } from './receiver.ts';

const SECRET = 'Abc+12/"3&4';

test.each([
  ['as it is', SECRET],
  ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
  ['in JSON as PHP writes it', 'Abc+12\\/\\"3&4'],
  ['in JSON as Go writes it', 'Abc+12/\\"3\\u00264'],
  ['in JSON in JSON', JSON.stringify(JSON.stringify(SECRET).slice(1, -1)).slice(1, -1)],
  ['in HTML', 'Abc+12/&quot;3&amp;4'],
  ['in HTML by numbers', 'Abc+12&#x2F;&#34;3&#038;4'],
  ['in a URL', encodeURIComponent(SECRET)],
])('a secret is left out, %s', (_, spelled) => {
  expect(redactor([SECRET])(`wrong: ${spelled}!`)).toBe('wrong: …!');
});

test.each([
  ['/services/T0123456/B0123456', 'Cannot POST /services/T0123456/B0123456', 'Cannot POST …'],
  ['/services/T0123456/B0123456', 'B0123456 is not a channel of T0123456', '… is not a channel of …'],
  ['/a?sig=abc%2Bdef%3D%3D&v=1', 'signature "abc%2Bdef%3D%3D" does not match', 'signature "…" does not match'],
  ['/a?sig=abc%2Bdef%3D%3D&v=1', 'signature "abc+def==" does not match', 'signature "…" does not match'],
  ['/a?key=two+words', 'no key "two words"', 'no key "…"'],
  ['/100%/0123456789', '0123456789 does not exist', '… does not exist'],
])('what is secret of the URL %s is left out of "%s"', (path, answer, shown) => {
  expect(redactor(secretsIn(new URL(path, 'https://hooks.example.com')))(answer)).toBe(shown);
});

test('an answer of many backslashes takes no longer than another', () => {
  const answer = '\\'.repeat(49);
  expect(redactor([`${'\\'.repeat(40)}x`])(answer)).toBe(answer);
});

test('an API key of Datadog is left out of the answer', async () => {
  const key = 'abcdef+0123456789/abcdef';
  const { port } = await receiver((response) => void response.writeHead(403).end(`invalid API key ${key}`));
  const target = { datadog: { api_key: key, site: 'datadoghq.com' as const, tags: [] } };
  const request = openTarget(destination(target), 'urn:test').request(EVENT, new Date());
  const guard = eventGuard({ networks: ['127.0.0.1'], httpHosts: ['127.0.0.1'] });
  const sender = createSender({ guard, timeoutMs: 10_000, now: () => new Date() });
  const answer = await sender.send({ ...request, url: new URL(`http://127.0.0.1:${port}/`) }, never);
  await sender.close();
  expect(answer).toMatchObject({ status: 403, body: 'invalid API key …' });
});
