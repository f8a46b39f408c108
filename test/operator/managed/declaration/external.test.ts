import { expect, test } from 'vitest';
import { requireChangeable } from '../../../../src/operator/managed/declaration/external.ts';

const remote = { id: 'cr_1', uri: '/credentials/cr_1' };
const external = (...fields: string[]) => ({ immutableChanges: () => fields });

test('a resource that an update can bring in line passes', () => {
  expect(() => requireChangeable(external(), {}, remote)).not.toThrow();
});

test('an immutable difference is rejected, naming the fields and the remedies', () => {
  expect(() => requireChangeable(external('ownerId', 'region'), {}, remote)).toThrow(
    expect.objectContaining({
      reason: 'Rejected',
      message:
        'cr_1 differs in spec.ownerId, spec.region, which cannot be changed: delete this object and create one that matches cr_1',
    }),
  );
});
