import { deletion } from '../module-conventions.ts';
import type { Section } from '../row.ts';
import { oauth, oauthRows } from './oauth-module.ts';
import { oidcRows } from './oidc-module.ts';

export const httpsEdgeRouteModules: Section = {
  title: 'HTTPS edge route modules',
  rows: [...oidcRows, ...oauthRows],
};

export const httpsEdgeRouteModuleExtensions: Section = {
  title: 'Extension: HTTPS edge route modules',
  rows: [deletion(oauth)],
};
