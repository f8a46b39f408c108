/**
 * The typed client of the management API, derived from the definitions in `src/resources`.
 *
 *     const client = createClient({ baseUrl, apiKey });
 *     const policy = await client.ipPolicies.create({ description: 'office' }, { idempotencyKey });
 *     for await (const credential of client.credentials.list()) …
 */
import { z } from 'zod';
import { apiKey } from '../resources/api-key.ts';
import { botUser } from '../resources/bot-user.ts';
import { certificateAuthority } from '../resources/certificate-authority.ts';
import { type authenticate, authentication, credential } from '../resources/credential.ts';
import { eventTypeList } from '../resources/definition/event-type.ts';
import { closedIdempotencyKey, idempotencyDigest } from '../resources/definition/idempotency.ts';
import type { Create, Resource, Update, View } from '../resources/definition/resource.ts';
import { endpointConfiguration } from '../resources/endpoint-configuration.ts';
import { eventDestination } from '../resources/event-destination.ts';
import { eventSource, eventSources, eventSubscription } from '../resources/event-subscription.ts';
import { httpResponseBackend } from '../resources/http-response-backend.ts';
import { httpsEdge } from '../resources/https-edge.ts';
import { httpsEdgeRoute } from '../resources/https-edge-route.ts';
import { httpsEdgeRouteOauth } from '../resources/https-edge-route-oauth.ts';
import { httpsEdgeRouteOidc } from '../resources/https-edge-route-oidc.ts';
import { ipPolicy } from '../resources/ip-policy.ts';
import { ipPolicyRule, type ruleSet } from '../resources/ip-policy-rule.ts';
import { reservedDomain } from '../resources/reserved-domain.ts';
import { sshCertificateAuthority } from '../resources/ssh-certificate-authority.ts';
import { sshHostCertificate } from '../resources/ssh-host-certificate.ts';
import { tlsCertificate } from '../resources/tls-certificate.ts';
import { tlsEdge } from '../resources/tls-edge.ts';
import { tlsEdgeBackend, tlsEdgeIpRestriction, tlsEdgeMutualTls } from '../resources/tls-edge-modules.ts';
import { tunnelGroupBackend } from '../resources/tunnel-group-backend.ts';
import { user } from '../resources/user.ts';
import type { CallOptions, ChangeOptions, CreateOptions } from './call-options.ts';
import { read } from './entity-tags.ts';
import { moduleClient } from './module-client.ts';
import { type Answer, createTransport, type Transport, type TransportOptions } from './transport.ts';

// What the package offers beside the client.
export type { ErrorCode } from '../resources/definition/errors.ts';
export type { CallOptions, ChangeOptions, CreateOptions } from './call-options.ts';
export { etagOf } from './entity-tags.ts';
export { ApiError, isNotFound, NoAnswerError } from './errors.ts';
export type { ModuleClient } from './module-client.ts';

export type ClientOptions = TransportOptions;

export interface Page<T> {
  items: T[];
  /** Id to pass as `beforeId` for the next page; undefined at the end. */
  next: string | undefined;
}

/** The calls of one family. All throw ApiError or NoAnswerError. */
export interface FamilyClient<R extends Resource> {
  create(body: Create<R>, options?: CreateOptions): Promise<View<R>>;
  get(id: string, options?: CallOptions): Promise<View<R>>;
  update(id: string, body: Update<R>, options?: ChangeOptions): Promise<View<R>>;
  delete(id: string, options?: ChangeOptions): Promise<void>;
  /** One page, newest first, of at most `limit` (1–100, default 100). */
  page(options?: CallOptions & { limit?: number; beforeId?: string | undefined }): Promise<Page<View<R>>>;
  /** All of them, newest first, page by page. */
  list(options?: CallOptions): AsyncGenerator<View<R>, void, undefined>;
}

const ruleSetAnswer = z.object({ ip_policy_rules: z.array(ipPolicyRule.view) });

export function createClient(options: ClientOptions) {
  const transport = createTransport(options);
  return {
    ipPolicies: family(transport, ipPolicy),
    ipPolicyRules: family(transport, ipPolicyRule),
    credentials: family(transport, credential),
    httpResponseBackends: family(transport, httpResponseBackend),
    tunnelGroupBackends: family(transport, tunnelGroupBackend),
    endpointConfigurations: family(transport, endpointConfiguration),
    reservedDomains: family(transport, reservedDomain),
    httpsEdges: family(transport, httpsEdge),
    httpsEdgeRoutes: (edgeId: string) => family(transport, { ...httpsEdgeRoute, path: routesOf(edgeId) }),
    httpsEdgeRouteModules(edgeId: string, routeId: string) {
      const route = `${routesOf(edgeId)}/${encodeURIComponent(routeId)}`;
      return {
        oidc: moduleClient(transport, route, httpsEdgeRouteOidc),
        oauth: moduleClient(transport, route, httpsEdgeRouteOauth),
      };
    },
    tlsEdges: family(transport, tlsEdge),
    tlsEdgeModules(edgeId: string) {
      const edge = `${tlsEdge.path}/${encodeURIComponent(edgeId)}`;
      return {
        ipRestriction: moduleClient(transport, edge, tlsEdgeIpRestriction),
        mutualTls: moduleClient(transport, edge, tlsEdgeMutualTls),
        backend: moduleClient(transport, edge, tlsEdgeBackend),
      };
    },
    eventDestinations: family(transport, eventDestination),
    eventSubscriptions: family(transport, eventSubscription),
    eventSources: (subscriptionId: string) => sourcesClient(transport, subscriptionId),
    /** All types that a subscription may have as sources. */
    async eventTypes(call: CallOptions = {}) {
      return read(eventTypeList, await transport.send({ method: 'GET', path: '/event_types', ...call })).event_types;
    },
    certificateAuthorities: family(transport, certificateAuthority),
    tlsCertificates: family(transport, tlsCertificate),
    sshCertificateAuthorities: family(transport, sshCertificateAuthority),
    sshHostCertificates: family(transport, sshHostCertificate),
    apiKeys: family(transport, apiKey),
    users: family(transport, user),
    botUsers: family(transport, botUser),

    /** Makes the rules of a policy exactly these, in one transaction. */
    async replaceRules(policyId: string, body: z.input<typeof ruleSet>, call: ChangeOptions = {}) {
      const path = `${ipPolicy.path}/${encodeURIComponent(policyId)}/rules`;
      const answer = await transport.send({ method: 'PUT', path, body, ...call });
      return ruleSetAnswer.parse(answer.body).ip_policy_rules;
    },

    /** All rules of one policy. */
    async rulesOf(policyId: string, call: CallOptions = {}) {
      const path = `${ipPolicy.path}/${encodeURIComponent(policyId)}/rules`;
      const answer = await transport.send({ method: 'GET', path, ...call });
      return ruleSetAnswer.parse(answer.body).ip_policy_rules;
    },

    /** Leaves a reserved domain without a certificate. */
    async detachCertificate(domainId: string, call: ChangeOptions = {}) {
      const path = `${reservedDomain.path}/${encodeURIComponent(domainId)}/certificate`;
      await transport.send({ method: 'DELETE', path, ...call });
    },

    /** Ends the automatic certificates of a reserved domain. */
    async detachCertificatePolicy(domainId: string, call: ChangeOptions = {}) {
      const path = `${reservedDomain.path}/${encodeURIComponent(domainId)}/certificate_management_policy`;
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

    /** Waits for the calls under way. */
    close: () => transport.close(),

    /** Breaks off the calls under way: they fail with NoAnswerError. */
    destroy: () => transport.destroy(),
  };
}

export type Client = ReturnType<typeof createClient>;

/** Path of the routes of one HTTPS edge. */
const routesOf = (edgeId: string) => `${httpsEdge.path}/${encodeURIComponent(edgeId)}/routes`;

/** The calls about the sources of one event subscription. */
function sourcesClient(transport: Transport, subscriptionId: string) {
  const path = `${eventSubscription.path}/${encodeURIComponent(subscriptionId)}/sources`;
  const at = (type: string) => `${path}/${encodeURIComponent(type)}`;
  return {
    async create(type: string, options: CreateOptions = {}) {
      return read(eventSource, await transport.send({ method: 'POST', path, body: { type }, ...options }));
    },
    async get(type: string, options: CallOptions = {}) {
      return read(eventSource, await transport.send({ method: 'GET', path: at(type), ...options }));
    },
    async list(options: CallOptions = {}) {
      return read(eventSources, await transport.send({ method: 'GET', path, ...options })).sources;
    },
    /** There is nothing to change: confirms that the source exists, at this ETag. */
    async update(type: string, options: ChangeOptions = {}) {
      return read(eventSource, await transport.send({ method: 'PATCH', path: at(type), body: {}, ...options }));
    },
    async delete(type: string, options: ChangeOptions = {}) {
      await transport.send({ method: 'DELETE', path: at(type), ...options });
    },
  };
}

const unknowns = z.array(z.unknown());
const nextPage = z.string().nullable();

function family<R extends Resource>(transport: Transport, resource: R): FamilyClient<R> {
  const at = (id: string) => `${resource.path}/${encodeURIComponent(id)}`;
  // The generic schema's output is View<R> by definition; TypeScript cannot see it through the type parameter.
  const view = (answer: Answer) => read(resource.view, answer) as View<R>;
  const item = (body: unknown) => resource.view.parse(body) as View<R>;
  const envelope = z.object({
    [resource.collection]: unknowns,
    next_page_uri: nextPage,
  });

  async function page(options: CallOptions & { limit?: number; beforeId?: string | undefined } = {}) {
    const { limit, beforeId, ...call } = options;
    const query = { limit, before_id: beforeId };
    const answer = await transport.send({ method: 'GET', path: resource.path, query, ...call });
    const list = envelope.parse(answer.body);
    const items = unknowns.parse(list[resource.collection]).map(item);
    const next = nextPage.parse(list.next_page_uri);
    return { items, next: next === null ? undefined : (new URL(next).searchParams.get('before_id') ?? undefined) };
  }

  return {
    async create(body, options = {}) {
      const answer = await transport.send({ method: 'POST', path: resource.path, body, ...options });
      return view(answer);
    },
    async get(id, options = {}) {
      const answer = await transport.send({ method: 'GET', path: at(id), ...options });
      return view(answer);
    },
    async update(id, body, options = {}) {
      const answer = await transport.send({ method: 'PATCH', path: at(id), body, ...options });
      return view(answer);
    },
    async delete(id, options = {}) {
      await transport.send({ method: 'DELETE', path: at(id), ...options });
    },
    page,
    async *list(options = {}) {
      let beforeId: string | undefined;
      do {
        const current: Page<View<R>> = await page({ ...options, beforeId });
        yield* current.items;
        beforeId = current.next;
      } while (beforeId !== undefined);
    },
  };
}
