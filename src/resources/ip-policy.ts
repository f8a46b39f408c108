/** IP policies: sets of rules that allow or deny source addresses. */
import { described, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';

export const ipPolicy = resource({
  name: 'ip_policy',
  title: 'IPPolicy',
  prefix: 'ipp',
  path: '/ip_policies',
  collection: 'ip_policies',
  tag: 'IP policies',
  description:
    'A set of rules about source addresses. It has no effect until an endpoint configuration or an IP restriction refers to it.',
  fields: described('What the source addresses are, such as offices.'),
  // Resources that refer to a deleted policy act as if it had no rules.
  deletableWhileReferenced: true,
  samples: {
    least: {},
    full: DESCRIBED,
    change: CHANGED,
  },
});
