import { expect, test } from 'vitest';
import { FAMILIES } from '../../../src/resources/families.ts';

/** Who may enter, and as what, is said and not reset. */
const SAID = ['active', 'admin'];

test.each(FAMILIES.map((family) => [family.name, family] as const))(
  'every field that a %s may be created without may also be null, which means the same',
  (_, { fields }) => {
    const refusing = Object.entries(fields).filter(
      ([, { onCreate, input }]) => onCreate === 'optional' && !input.safeParse(null).success,
    );
    expect(refusing.map(([name]) => name).filter((name) => !SAID.includes(name))).toEqual([]);
  },
);
