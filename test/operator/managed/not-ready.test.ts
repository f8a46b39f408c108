import { expect, test } from 'vitest';
import { notReady } from '../../../src/operator/managed/not-ready.ts';
import { condition, object } from '../objects.ts';

const created = '2026-11-21T10:00:00Z';
const later = '2026-11-21T12:00:00Z';
const conditions = (...all: object[]) => object({ created, status: { conditions: all } });

test.each([
  { what: 'that no reconcile has seen', of: object({ created }), is: ['NotReconciled', created] },
  { what: 'that is paused', of: object({ created }, { paused: 'true' }), is: undefined },
  { what: 'that is Ready', of: conditions(condition('Ready', 'True')), is: undefined },
  {
    what: 'with a reason of ours',
    of: conditions(condition('Ready', 'False', { reason: 'SecretConflict', lastTransitionTime: later })),
    is: ['SecretConflict', later],
  },
  {
    what: 'whose reason is unknown, for the label',
    of: conditions(condition('Ready', 'False', { reason: 'x"} 1', lastTransitionTime: later })),
    is: ['Other', later],
  },
  {
    what: 'whose time is none',
    of: conditions(condition('Ready', 'False', { reason: 'Rejected', lastTransitionTime: 'soon' })),
    is: ['Rejected', created],
  },
  { what: 'with other conditions only', of: conditions(condition('Synced', 'True')), is: ['NotReconciled', created] },
])('an object $what', ({ of, is }) => {
  const [reason, since = ''] = is ?? [];
  expect(notReady(of)).toEqual(is && { reason, since: Date.parse(since) });
});
