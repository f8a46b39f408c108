/** OAuth on a route of an HTTPS edge. */

import { module } from './definition/module.ts';
import { field } from './definition/resource.ts';
import { httpsEdgeRoute } from './https-edge-route.ts';
import { providerInput, providerView, withoutSecret } from './oauth-provider.ts';
import { seconds, session } from './session-settings.ts';

const PROVIDER =
  'Identity provider that users sign in with, and the users allowed access. Exactly one member must be set.';

export const httpsEdgeRouteOauth = module({
  name: 'oauth',
  title: 'HTTPSEdgeRouteOAuth',
  description: 'Requires users of the route to sign in with an OAuth identity provider.',
  of: httpsEdgeRoute,
  fields: {
    ...session,
    provider: {
      ...field(providerView, providerInput.meta({ description: PROVIDER }), 'required', true, null),
      sealed: true,
      shorten: withoutSecret,
    },
    auth_check_interval: seconds('Seconds after which the provider is asked again whether the user still has access.'),
  },
});
