/**
 * The typed client of the management API, derived from the definitions in `src/resources`.
 *
 *     const client = createClient({ baseUrl, apiKey });
 *     const policy = await client.ipPolicies.create({ description: 'office' }, { idempotencyKey });
 *     for await (const credential of client.credentials.list()) …
 */
import { z } from 'zod';
import { account } from '../resources/account.ts';
import { accountUsage } from '../resources/account-usage.ts';
import { type authenticate, authentication, credential } from '../resources/credential.ts';
import { eventTypeList } from '../resources/definition/event-type.ts';
import { closedIdempotencyKey, idempotencyDigest, idempotencyScope } from '../resources/definition/idempotency.ts';
import { MODULES, WHOLE } from '../resources/definition/manager.ts';
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
import { accountClient } from './account-client.ts';
import type { CallOptions, ChangeOptions } from './call-options.ts';
import { read, remember } from './entity-tags.ts';
import { eventClient } from './event-client.ts';
import { eventDeliveryClient } from './event-delivery-client.ts';
import { eventDestinationClient } from './event-destination-client.ts';
import { eventSourceClient } from './event-source-client.ts';
import { type FamilyClient, familyClient } from './family-client.ts';
import { managerClient } from './manager-client.ts';
import { moduleClient } from './module-client.ts';
import { segment } from './path-segment.ts';
import { createTransport, type Transport, type TransportOptions } from './transport.ts';

// The package exports these in addition to the client.
export type { ErrorCode } from '../resources/definition/errors.ts';
export type { Manager } from '../resources/definition/manager.ts';
export type { CallOptions, ChangeOptions, ClaimOptions, CreateOptions, WriteOptions } from './call-options.ts';
export { etagOf, isReplay } from './entity-tags.ts';
export { ApiError, ApiUnreachableError, isNotFound } from './errors.ts';
export type { FamilyClient, ListOptions, PageOptions } from './family-client.ts';
export type { FilteredBy, ListClient, Page, PageFilteredBy, PageStart } from './list-client.ts';
export type { ModuleClient } from './module-client.ts';

export type ClientOptions = TransportOptions;

const ruleSetAnswer = z.object({ ip_policy_rules: z.array(ipPolicyRule.view) });

export function createClient(options: ClientOptions) {
  const transport = createTransport(options);
  const calls = {
    accounts: accountClient(transport),
    eventDestinations: eventDestinationClient(transport),
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
    /** Which object of which cluster manages a resource, and which one its modules. */
    resourceManagers: managerClient(transport, WHOLE),
    moduleManagers: managerClient(transport, MODULES),
    eventSources: (subscriptionId: string) => eventSourceClient(transport, subscriptionId),
    /** Who changed what, and when. */
    events: eventClient(transport),
    /** What was sent to event destinations, and what came back. */
    eventDeliveries: eventDeliveryClient(transport),
    /** All types that a subscription may have as sources. */
    async eventTypes(call: CallOptions = {}) {
      return read(eventTypeList, await transport.send({ method: 'GET', path: '/event_types', ...call })).event_types;
    },

    /** The owner of this client's API key, and when the key expires. */
    async whoami(call: CallOptions = {}) {
      return read(whoami, await transport.send({ method: 'GET', path: '/whoami', ...call }));
    },

    /** The account of this client's API key, and its limits. */
    async ownAccount(call: CallOptions = {}) {
      return read(account.view, await transport.send({ method: 'GET', path: '/account', ...call }));
    },

    /** How many resources of each family the account has, and may have. */
    async accountUsage(call: CallOptions = {}) {
      return read(accountUsage, await transport.send({ method: 'GET', path: '/account/usage', ...call }));
    },

    /** Replaces all rules of a policy in one transaction. */
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

    /** Detaches the certificate of a reserved domain. */
    async detachCertificate(domainId: string, call: ChangeOptions = {}) {
      const path = `${reservedDomain.path}/${segment(domainId)}/certificate`;
      await transport.send({ method: 'DELETE', path, ...call });
    },

    /** Ends the automatic certificates of a reserved domain. */
    async detachCertificatePolicy(domainId: string, call: ChangeOptions = {}) {
      const path = `${reservedDomain.path}/${segment(domainId)}/certificate_management_policy`;
      await transport.send({ method: 'DELETE', path, ...call });
    },

    /** Checks for a data plane whether a token may bind a target. */
    async authenticate(body: z.input<typeof authenticate>, call: CallOptions = {}) {
      const answer = await transport.send({ method: 'POST', path: `${credential.path}/authenticate`, body, ...call });
      return read(authentication, answer);
    },

    /**
     * Closes an idempotency key: from then on no create under it takes effect, not even one in flight. Returns the
     * resource created under it, if it still exists.
     */
    async closeIdempotencyKey(key: string, call: CallOptions = {}) {
      const path = `/idempotency_keys/${idempotencyDigest(key)}/closed`;
      const answer = await transport.send({ method: 'PUT', path, ...call });
      return read(closedIdempotencyKey, answer);
    },

    /** The resources created in an idempotency scope that still exist. */
    async idempotencyScope(scope: string, call: CallOptions = {}) {
      const path = `/idempotency_scopes/${idempotencyDigest(scope)}`;
      return read(idempotencyScope, await transport.send({ method: 'GET', path, ...call }));
    },

    /**
     * Closes an idempotency scope: from then on no earlier create takes effect, not even one in flight. Returns the
     * resources created in it that still exist.
     */
    async closeIdempotencyScope(scope: string, call: CallOptions = {}) {
      const path = `/idempotency_scopes/${idempotencyDigest(scope)}/closed`;
      return read(idempotencyScope, await transport.send({ method: 'PUT', path, ...call }));
    },

    /** The time by the clock of the API, as its responses show it. */
    now: () => transport.clock.now(),

    /** Waits for the calls in flight. */
    close: () => transport.close(),

    /** Aborts the calls in flight: they fail with ApiUnreachableError, or with the error of their last attempt. */
    destroy: () => transport.destroy(),
  };
  // Some families have more calls than the others.
  return withFamilies(calls, transport);
}

export type Client = ReturnType<typeof createClient>;

type Families = typeof families;

/** The calls of each family. Those of a nested family are a function of the id of its parent. */
type FamilyClients = { readonly [K in keyof Families]: CallsOf<Families[K]> };
type CallsOf<R extends Resource> = R extends { readonly parent: Parent }
  ? (parentId: string) => FamilyClient<R>
  : FamilyClient<R>;

/** Adds the families that `calls` lacks, each made when it is first used: a program may have many clients. */
function withFamilies<T extends object>(calls: T, transport: Transport): T & Omit<FamilyClients, keyof T> {
  for (const [name, family] of Object.entries<Resource>(families)) {
    if (name in calls) continue;
    Object.defineProperty(calls, name, {
      configurable: true,
      enumerable: true,
      get() {
        const value = callsOf(family, transport);
        Object.defineProperty(calls, name, { value, enumerable: true });
        return value;
      },
    });
  }
  // TypeScript does not see properties that are added by name.
  return calls as T & Omit<FamilyClients, keyof T>;
}

function callsOf(family: Resource, transport: Transport) {
  if (!family.parent) return familyClient(transport, family);
  return (parentId: string) => familyClient(transport, { ...family, path: fillParent(family, parentId) });
}

/** The path of a nested family for one parent. */
const fillParent = ({ path }: Resource, parentId: string) => path.replace(/\{\w+\}/, segment(parentId));
