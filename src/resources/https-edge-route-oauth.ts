/** OAuth on a route of an HTTPS edge. */

import { module } from './definition/module.ts';
import { field } from './definition/resource.ts';
import { httpsEdgeRoute } from './https-edge-route.ts';
import { providerInput, providerView } from './oauth-provider.ts';
import { seconds, session } from './session-settings.ts';

export const httpsEdgeRouteOauth = module({
  name: 'oauth',
  title: 'HTTPSEdgeRouteOAuth',
  description: 'Requires users of the route to sign in with an identity provider.',
  of: httpsEdgeRoute,
  fields: {
    ...session,
    provider: { ...field(providerView, providerInput, 'required', true, null), sealed: true },
    auth_check_interval: seconds('Seconds between checks with the provider that the user still has access.'),
  },
});
