/** OpenID Connect on a route of an HTTPS edge. */

import { module, neededText, setting } from './definition/module.ts';
import { issuerUrl } from './formats/web-url.ts';
import { httpsEdgeRoute } from './https-edge-route.ts';
import { clientId, clientSecret, hidden, scopes, session } from './session-settings.ts';

export const httpsEdgeRouteOidc = module({
  name: 'oidc',
  title: 'HTTPSEdgeRouteOIDC',
  description: 'Requires users of the route to sign in with an OpenID Connect provider.',
  of: httpsEdgeRoute,
  fields: {
    ...session,
    issuer: neededText(
      issuerUrl.meta({
        description: 'Base URL of the provider, from which its settings are discovered.',
        examples: ['https://accounts.example.com'],
      }),
    ),
    client_id: neededText(clientId),
    client_secret: { ...neededText(clientSecret), sealed: true, shorten: hidden },
    scopes: setting(scopes, []),
  },
});
