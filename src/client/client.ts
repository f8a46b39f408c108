/**
 * The typed client of the management API, derived from the definitions in `src/resources`.
 *
 *     const client = createClient({ baseUrl, apiKey });
 *     const policy = await client.ipPolicies.create({ description: 'office' }, { idempotencyKey });
 *     for await (const credential of client.credentials.list()) …
 */
import { z } from 'zod';
import { type authenticate, authentication, credential } from '../resources/credential.ts';
import { eventTypeList } from '../resources/definition/event-type.ts';
import { closedIdempotencyKey, idempotencyDigest, idempotencyScope } from '../resources/definition/idempotency.ts';
import type { Parent, Resource } from '../resources/definition/resource.ts';
import { families } from '../resources/families.ts';
import { httpsEdgeRoute } from '../resources/https-edge-route.ts';
import { httpsEdgeRouteOauth } from '../resources/https-edge-route-oauth.ts';
import { httpsEdgeRouteOidc } from '../resources/https-edge-route-oidc.ts';
import { ipPolicy } from '../resources/ip-policy.ts';
import { ipPolicyRule, type ruleSet } from '../resources/ip-policy-rule.ts';
import { reservedDomain } from '../resources/reserved-domain.ts';
import { tlsEdge } from '../resources/tls-edge.ts';
import { tlsEdgeBackend, tlsEdgeIpRestriction, tlsEdgeMutualTls } from '../resources/tls-edge-modules.ts';
import { whoami } from '../resources/whoami.ts';
import type { CallOptions, ChangeOptions } from './call-options.ts';
import { read, remember } from './entity-tags.ts';
import { eventSourceClient } from './event-source-client.ts';
import { type FamilyClient, familyClient } from './family-client.ts';
import { moduleClient } from './module-client.ts';
import { segment } from './path-segment.ts';
import { createTransport, type Transport, type TransportOptions } from './transport.ts';

// What the package offers beside the client.
export type { ErrorCode } from '../resources/definition/errors.ts';
export type { CallOptions, ChangeOptions, CreateOptions } from './call-options.ts';
export { etagOf, isReplay, sentAt } from './entity-tags.ts';
export { ApiError, ApiUnreachableError, isNotFound } from './errors.ts';
export type { FamilyClient, Page } from './family-client.ts';
export type { ModuleClient } from './module-client.ts';

export type ClientOptions = TransportOptions;

const ruleSetAnswer = z.object({ ip_policy_rules: z.array(ipPolicyRule.view) });

export function createClient(options: ClientOptions) {
  const transport = createTransport(options);
  return {
    ...familyClients(transport),
    httpsEdgeRouteModules(edgeId: string, routeId: string) {
      const route = `${fillParent(httpsEdgeRoute, edgeId)}/${segment(routeId)}`;
      return {
        oidc: moduleClient(transport, route, httpsEdgeRouteOidc),
        oauth: moduleClient(transport, route, httpsEdgeRouteOauth),
      };
    },
    tlsEdgeModules(edgeId: string) {
      const edge = `${tlsEdge.path}/${segment(edgeId)}`;
      return {
        ipRestriction: moduleClient(transport, edge, tlsEdgeIpRestriction),
        mutualTls: moduleClient(transport, edge, tlsEdgeMutualTls),
        backend: moduleClient(transport, edge, tlsEdgeBackend),
      };
    },
    eventSources: (subscriptionId: string) => eventSourceClient(transport, subscriptionId),
    /** All types that a subscription may have as sources. */
    async eventTypes(call: CallOptions = {}) {
      return read(eventTypeList, await transport.send({ method: 'GET', path: '/event_types', ...call })).event_types;
    },

    /** Whose API key this client has, and when it expires. */
    async whoami(call: CallOptions = {}) {
      return read(whoami, await transport.send({ method: 'GET', path: '/whoami', ...call }));
    },

    /** Makes the rules of a policy exactly these, in one transaction. */
    async replaceRules(policyId: string, body: z.input<typeof ruleSet>, call: ChangeOptions = {}) {
      const path = `${ipPolicy.path}/${segment(policyId)}/rules`;
      const answer = await transport.send({ method: 'PUT', path, body, ...call });
      return remember(read(ruleSetAnswer, answer).ip_policy_rules, answer);
    },

    /** All rules of one policy. */
    async rulesOf(policyId: string, call: CallOptions = {}) {
      const path = `${ipPolicy.path}/${segment(policyId)}/rules`;
      const answer = await transport.send({ method: 'GET', path, ...call });
      return remember(read(ruleSetAnswer, answer).ip_policy_rules, answer);
    },

    /** Leaves a reserved domain without a certificate. */
    async detachCertificate(domainId: string, call: ChangeOptions = {}) {
      const path = `${reservedDomain.path}/${segment(domainId)}/certificate`;
      await transport.send({ method: 'DELETE', path, ...call });
    },

    /** Ends the automatic certificates of a reserved domain. */
    async detachCertificatePolicy(domainId: string, call: ChangeOptions = {}) {
      const path = `${reservedDomain.path}/${segment(domainId)}/certificate_management_policy`;
      await transport.send({ method: 'DELETE', path, ...call });
    },

    /** Asks, as a data plane does, whether a token may bind a target. */
    async authenticate(body: z.input<typeof authenticate>, call: CallOptions = {}) {
      const answer = await transport.send({ method: 'POST', path: `${credential.path}/authenticate`, body, ...call });
      return read(authentication, answer);
    },

    /**
     * Makes an idempotency key unusable, also for a create that is still on its way, and says what was created under
     * it and still exists. After this nothing can appear under the key.
     */
    async closeIdempotencyKey(key: string, call: CallOptions = {}) {
      const path = `/idempotency_keys/${idempotencyDigest(key)}/closed`;
      const answer = await transport.send({ method: 'PUT', path, ...call });
      return read(closedIdempotencyKey, answer);
    },

    /** What was created in an idempotency scope and still exists. */
    async idempotencyScope(scope: string, call: CallOptions = {}) {
      const path = `/idempotency_scopes/${idempotencyDigest(scope)}`;
      return read(idempotencyScope, await transport.send({ method: 'GET', path, ...call }));
    },

    /**
     * Makes everything that has begun in an idempotency scope end: no create takes effect that was sent before, not even
     * one that is still on its way. Returns what was created in the scope and still exists.
     */
    async closeIdempotencyScope(scope: string, call: CallOptions = {}) {
      const path = `/idempotency_scopes/${idempotencyDigest(scope)}/closed`;
      return read(idempotencyScope, await transport.send({ method: 'PUT', path, ...call }));
    },

    /** Waits for the calls in flight. */
    close: () => transport.close(),

    /** Aborts the calls in flight: they fail with ApiUnreachableError, or with what their last attempt failed with. */
    destroy: () => transport.destroy(),
  };
}

export type Client = ReturnType<typeof createClient>;

type Families = typeof families;

/** For each family its calls; of what lives in another resource, for the id of that. */
type FamilyClients = { readonly [K in keyof Families]: CallsOf<Families[K]> };
type CallsOf<R extends Resource> = R extends { readonly parent: Parent }
  ? (parentId: string) => FamilyClient<R>
  : FamilyClient<R>;

function familyClients(transport: Transport): FamilyClients {
  const all = Object.entries<Resource>(families).map(([name, family]) => {
    if (!family.parent) return [name, familyClient(transport, family)];
    return [name, (parentId: string) => familyClient(transport, { ...family, path: fillParent(family, parentId) })];
  });
  // The entries of a record lose which key has which family.
  return Object.fromEntries(all) as FamilyClients;
}

/** The path of a family that lives in another, for one resource of that. */
const fillParent = ({ path }: Resource, parentId: string) => path.replace(/\{\w+\}/, segment(parentId));
