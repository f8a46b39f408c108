import { expect, test } from 'vitest';
import { exitCodeOf } from '../../../src/operator/plan/command.ts';
import type { Planned } from '../../../src/operator/plan/planned.ts';
import { asJson, asText } from '../../../src/operator/plan/render.ts';

const planned = (action: Planned['action'], more: Partial<Planned> = {}): Planned => ({
  kind: 'Kind',
  namespace: 'ns',
  name: action,
  action,
  changes: [],
  ...more,
});

test('a plan in text lists the objects with their changes, and ends with a summary', () => {
  const long = `line\n${'x'.repeat(200)}`;
  const longest = 'x'.repeat(158);
  const text = asText([
    planned('create', {
      changes: [
        { path: 'spec.a', before: undefined, after: long },
        { path: 'spec.b', isSecret: true },
        { path: 'spec.c', before: undefined, after: longest },
      ],
    }),
    planned('change', {
      id: 'k_1',
      changes: [
        { path: 'spec.a', before: [], after: undefined },
        { path: 'spec.b', isSecret: true },
      ],
    }),
    planned('replace', { id: 'k_2', reason: 'spec.a changed' }),
    planned('none', { reason: 'paused' }),
    planned('blocked', { reason: 'spec.a: no' }),
  ]);
  expect(text.split('\n')).toEqual([
    '+ create Kind ns/create',
    `    spec.a: "line\\n${'x'.repeat(153)}… (208 characters)`,
    '    spec.b: (secret)',
    `    spec.c: "${longest}"`,
    '~ change Kind ns/change (k_1)',
    '    spec.a: [] → (none)',
    '    spec.b: (secret) changed',
    '-/+ replace Kind ns/replace (k_2: spec.a changed)',
    '= no change Kind ns/none (paused)',
    '! blocked Kind ns/blocked (spec.a: no)',
    '',
    'Plan: 1 to create, 1 to change, 1 to replace, 1 without a change, 1 blocked.',
    '',
  ]);
  const summary = 'Plan: 0 to create, 0 to change, 0 to replace, 1 without a change, 0 blocked.';
  expect(asText([planned('none')])).toBe(`= no change Kind ns/none\n\n${summary}\n`);
  expect(asText([])).toBe('Plan: 0 to create, 0 to change, 0 to replace, 0 without a change, 0 blocked.\n');
});

test('a plan in JSON says that a secret changes, but not its value', () => {
  const changes = [{ path: 'spec.a', before: undefined, after: 1 }, { path: 'spec.b', isSecret: true } as const];
  expect(JSON.parse(asJson([planned('change', { id: 'k_1', changes })]))).toEqual({
    notes: [],
    summary: { create: 0, change: 1, replace: 0, none: 0, blocked: 0 },
    objects: [
      {
        kind: 'Kind',
        namespace: 'ns',
        name: 'change',
        action: 'change',
        id: 'k_1',
        changes: [
          { path: 'spec.a', before: null, after: 1 },
          { path: 'spec.b', secret: 'changed' },
        ],
      },
    ],
  });
});

test.for([
  [[], 0],
  [['none', 'none'], 0],
  [['none', 'create'], 2],
  [['change'], 2],
  [['replace'], 2],
  [['create', 'blocked'], 1],
] as const)('the exit code of %j is %i', ([actions, code]) => {
  expect(exitCodeOf(actions.map((action) => planned(action)))).toBe(code);
});
