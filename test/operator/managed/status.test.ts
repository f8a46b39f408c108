import { expect, test } from 'vitest';
import { REASON } from '../../../src/operator/contract/reasons.ts';
import { failureFindings } from '../../../src/operator/managed/status.ts';
import { condition, object } from '../objects.ts';

const failure = { reason: REASON.apiUnavailable, message: 'no answer' };
const ready = object({ status: { conditions: [condition('Ready', 'True')] } });
const unready = object({ status: { conditions: [condition('Ready', 'False')] } });

test.each([
  ['both conditions, of one that only a change can mend', ready, false, ['Ready', 'Synced']],
  ['that it is not in sync, of passing trouble', ready, true, ['Synced']],
  ['both, of passing trouble when it was not ready', unready, true, ['Ready', 'Synced']],
  ['both, of passing trouble before it ever was', object(), true, ['Ready', 'Synced']],
])('a failure shows in %s', (_, of, keepReady, expected) => {
  const findings = failureFindings(of, { ...failure, keepReady });
  expect(Object.keys(findings)).toEqual(expected);
  for (const finding of Object.values(findings)) expect(finding).toEqual({ status: 'False', ...failure });
});
