import { expect, test } from 'vitest';
import { drawn, roomsSection } from '../../dev/architecture-page.ts';
import { withSection } from '../../dev/generated-section.ts';

const ROOMS = { ground: [], 'api/low': ['ground'], 'api/high': ['api/low', 'ground'], top: ['api/high', 'ground'] };

test.each([
  ['ground', []],
  ['api/low', ['ground']],
  ['api/high', ['api/low']],
  ['top', ['api/high']],
])('from %s only arrows are drawn that do not follow from others', (room, arrows) => {
  expect(drawn(ROOMS, room)).toEqual(arrows);
});

test('the picture has every room, in frames of its own what has rooms inside', () => {
  const purpose = Object.fromEntries(Object.keys(ROOMS).map((room) => [room, `What ${room} is for.`]));
  const text = roomsSection(ROOMS, purpose);
  expect(text).toContain('  subgraph api_rooms["api"]\n    api_high["api/high"]\n    api_low["api/low"]\n  end\n');
  expect(text).toContain('  top --> api_high\n');
  expect(text).toContain('| `src/top` | What top is for. |\n| `src/api/high` |');
});

test('a room without a description is named', () => {
  expect(() => roomsSection(ROOMS, {})).toThrow('src/top');
});

test('a section is replaced between its comments, and nothing else', () => {
  const text = 'a\n<!-- rooms: generated, npm run generate -->\nold\n<!-- /rooms -->\nb\n';
  const replaced = 'a\n<!-- rooms: generated, npm run generate -->\n\nnew\n\n<!-- /rooms -->\nb\n';
  expect(withSection(text, 'rooms', 'new\n')).toBe(replaced);
  expect(withSection(replaced, 'rooms', 'new\n')).toBe(replaced);
  expect(() => withSection('a', 'rooms', 'new')).toThrow('is missing');
});
