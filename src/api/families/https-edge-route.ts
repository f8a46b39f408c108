/** Routes of HTTPS edges, and their modules. */
import { prefixProblem } from '../../resources/formats/path.ts';
import { httpsEdgeRoute } from '../../resources/https-edge-route.ts';
import { httpsEdgeRouteOauth } from '../../resources/https-edge-route-oauth.ts';
import { httpsEdgeRouteOidc } from '../../resources/https-edge-route-oidc.ts';
import { mount } from '../crud/mount.ts';
import { mountModule } from '../crud/mount-module.ts';
import { invalidRequest } from '../errors/errors.ts';
import type { Row } from '../store/repository.ts';

export const httpsEdgeRoutes = mount(httpsEdgeRoute, {
  aboutDelete: 'Deletes its modules as well.',
  derive(after, before) {
    if (before?.match !== after.match || before?.match_type !== after.match_type) refuseWildcard(after);
    return {};
  },
});
mountModule(httpsEdgeRoutes, httpsEdgeRouteOidc);
mountModule(httpsEdgeRoutes, httpsEdgeRouteOauth);

function refuseWildcard({ match, match_type }: Row): void {
  const problem = match_type === 'path_prefix' ? prefixProblem(String(match)) : undefined;
  if (problem) throw invalidRequest({ '/match': problem }, { '/match': 'must not have a wildcard' });
}
