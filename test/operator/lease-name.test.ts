import { expect, test } from 'vitest';
import { LabelSelector } from '../../src/operator/kube/label-selector.ts';
import { leaseName } from '../../src/operator/lease-name.ts';

// During an update, replicas of two versions must compete for the same Lease.
test.each([
  ['of all objects', undefined, 'tunnel-operator'],
  ['of a shard', 'shard=a', 'tunnel-operator-2f25437b12'],
  ['of the same shard, spelled differently', 'shard in (a)', 'tunnel-operator-2f25437b12'],
  ['of another shard', 'shard!=a', 'tunnel-operator-ab11602725'],
])('the Lease of the operator %s has the same name in every version', (_, selector, expected) => {
  const shard = selector === undefined ? undefined : LabelSelector.parse(selector);
  expect(leaseName('tunnel-operator', shard)).toBe(expected);
});
