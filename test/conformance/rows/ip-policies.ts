import { conventions } from '../conventions.ts';
import type { Section } from '../row.ts';
import { described } from '../texts.ts';

const path = '/ip_policies';

export const ipPolicies: Section = {
  title: 'IP policies',
  rows: [
    ...conventions({
      one: 'an IP policy',
      many: 'IP policies',
      prefix: 'ipp',
      path,
      collection: 'ip_policies',
      least: {},
      change: { description: 'changed', metadata: 'changed too' },
    }),
    ...described({ one: 'an IP policy', path, least: {}, unit: 'bytes' }),
  ],
};
