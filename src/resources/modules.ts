/** All modules, in the order of the documentation. */
import type { Module } from './definition/module.ts';
import { httpsEdgeRouteOauth } from './https-edge-route-oauth.ts';
import { httpsEdgeRouteOidc } from './https-edge-route-oidc.ts';
import { tlsEdgeBackend, tlsEdgeIpRestriction, tlsEdgeMutualTls } from './tls-edge-modules.ts';

export const ALL_MODULES: readonly Module[] = [
  httpsEdgeRouteOidc,
  httpsEdgeRouteOauth,
  tlsEdgeIpRestriction,
  tlsEdgeMutualTls,
  tlsEdgeBackend,
];
