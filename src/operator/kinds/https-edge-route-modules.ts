/** `HTTPSEdgeRouteModules`: the modules of a route, which require its users to sign in. */
import type { Client } from '../../client/client.ts';
import { httpsEdgeRouteOauth } from '../../resources/https-edge-route-oauth.ts';
import { httpsEdgeRouteOidc } from '../../resources/https-edge-route-oidc.ts';
import { OAUTH_PROVIDERS } from '../../resources/oauth-provider.ts';
import { attachedKind } from './attached-kind.ts';
import { httpsEdgeRouteKind } from './https-edge-route.ts';
import { partsOfId } from './nested-calls.ts';

const modulesOf = (client: Client, routeId: string) => {
  const { parent, own } = partsOfId(routeId);
  return client.httpsEdgeRouteModules(parent, own);
};

/** For a rule, since a schema cannot say "exactly one", and the API would refuse the object only later. */
const oneProvider = OAUTH_PROVIDERS.map((name) => `has(self.oauth.provider.${name})`).join(', ');

export const httpsEdgeRouteModulesKind = attachedKind(httpsEdgeRouteKind, {
  kind: 'HTTPSEdgeRouteModules',
  shortNames: ['hroutemod'],
  description: 'The modules of one route of an HTTPS edge, which require its users to sign in.',
  ownerRef: 'routeRef',
  modules: [
    {
      module: httpsEdgeRouteOidc,
      sources: ['client_id', 'client_secret'],
      calls: (client, routeId) => modulesOf(client, routeId).oidc,
    },
    {
      module: httpsEdgeRouteOauth,
      sources: ['client_id', 'client_secret'],
      calls: (client, routeId) => modulesOf(client, routeId).oauth,
    },
  ],
  rules: [
    {
      rule: `!has(self.oauth) || [${oneProvider}].filter(given, given).size() == 1`,
      message: 'exactly one provider must be given',
      fieldPath: '.oauth.provider',
    },
  ],
});
