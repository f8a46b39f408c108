/** Routes of HTTPS edges, and their modules. */
import { httpsEdgeRoute } from '../../resources/https-edge-route.ts';
import { httpsEdgeRouteOauth } from '../../resources/https-edge-route-oauth.ts';
import { httpsEdgeRouteOidc } from '../../resources/https-edge-route-oidc.ts';
import { mount } from '../crud/mount.ts';
import { mountModule } from '../crud/mount-module.ts';

export const httpsEdgeRoutes = mount(httpsEdgeRoute, { aboutDelete: 'Deletes its modules as well.' });
mountModule(httpsEdgeRoutes, httpsEdgeRouteOidc);
mountModule(httpsEdgeRoutes, httpsEdgeRouteOauth);
