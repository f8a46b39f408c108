import { expect, test } from 'vitest';
import { eventBody, eventName } from '../../../src/operator/kube/kube-event.ts';
import { object } from '../objects.ts';

const at = new Date('2026-11-21T10:00:00.123Z');
const stamp = at.getTime().toString(16);

test.each([
  ['has the name of its object and the time', 'cred', 0, `cred.${stamp}0`],
  ['ends with a number, since others may have the same time', 'cred', 17, `cred.${stamp}11`],
  ['cuts a long name of its object', 'a'.repeat(253), 0, `${'a'.repeat(200)}.${stamp}0`],
  ['stays valid where it was cut', `${'a'.repeat(199)}.b`, 0, `${'a'.repeat(199)}.${stamp}0`],
])('the name of a Kubernetes Event %s', (_, name, serial, expected) => {
  expect(eventName(object({ name }), at, serial)).toBe(expected);
});

test('the body of an Event says which object it is about, who reports it and when', () => {
  const event = { type: 'Warning', reason: 'Rejected', message: 'x'.repeat(2_000) } as const;
  const reporter = { component: 'operator', instance: 'pod-1' };
  expect(eventBody(object({ version: 7 }), event, 'name', reporter, at)).toMatchObject({
    metadata: { name: 'name', namespace: 'ns' },
    involvedObject: { kind: 'IPPolicy', name: 'a', namespace: 'ns', uid: 'uid-of-a', resourceVersion: '7' },
    type: 'Warning',
    message: 'x'.repeat(1_024),
    source: { component: 'operator' },
    reportingInstance: 'pod-1',
    firstTimestamp: '2026-11-21T10:00:00Z',
    count: 1,
  });
});
