import { expect, test } from 'vitest';
import { mustBeChangeable } from '../../../src/operator/managed/immutable.ts';

const remote = { id: 'cr_1', uri: '/credentials/cr_1' };
const external = (...fields: string[]) => ({ immutableChanges: () => fields });

test('a resource that an update can make as declared passes', () => {
  expect(() => mustBeChangeable(external(), {}, remote)).not.toThrow();
});

test('one that differs for good is rejected, naming the fields and the ways out', () => {
  expect(() => mustBeChangeable(external('ownerId', 'region'), {}, remote)).toThrow(
    expect.objectContaining({
      reason: 'Rejected',
      message:
        'cr_1 differs in spec.ownerId, spec.region, which cannot be changed: delete this object, or make one that declares what cr_1 has',
    }),
  );
});
