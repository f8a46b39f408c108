/** IP policies: named sets of rules about source addresses. */
import { described, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';

export const ipPolicy = resource({
  name: 'ip_policy',
  title: 'IPPolicy',
  prefix: 'ipp',
  path: '/ip_policies',
  collection: 'ip_policies',
  tag: 'IP policies',
  description: 'A set of IP policy rules. It has no effect until an endpoint or an IP restriction refers to it.',
  fields: described('What the source addresses are.'),
  // What refers to a deleted policy goes on as if the policy had no rules.
  deletableWhileReferenced: true,
  samples: {
    least: {},
    full: DESCRIBED,
    change: CHANGED,
  },
});
