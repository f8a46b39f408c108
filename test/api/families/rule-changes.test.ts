import { expect, test } from 'vitest';
import { ruleChanges } from '../../../src/api/families/rule-changes.ts';

const rule = (id: string, more: object = {}) => ({
  id,
  created_at: '',
  revision: 1,
  cidr: '10.0.0.0/8',
  action: 'allow',
  description: 'long',
  ...more,
});
const named = (id: string, action = 'allow') => ({ id, cidr: '10.0.0.0/8', action });

test('an event says which rules have come, gone and changed, and in what', () => {
  const changed = [[rule('b', { action: 'deny', revision: 2, tags: [1] }), rule('b', { tags: [1] })]] as const;
  expect(ruleChanges({ added: [rule('a')], changed, removed: [rule('c'), rule('d')] })).toEqual({
    rule_changes: {
      added: { count: 1, rules: [named('a')] },
      changed: { count: 1, rules: [{ ...named('b', 'deny'), fields: ['revision', 'action'] }] },
      removed: { count: 2, rules: [named('c'), named('d')] },
    },
  });
});

test('an event of nothing says so', () => {
  const none = { count: 0, rules: [] };
  expect(ruleChanges({})).toEqual({ rule_changes: { added: none, changed: none, removed: none } });
});
