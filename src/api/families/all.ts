/** Every operation of the API: those of the families, and those that belong to none. */
import type { Resource } from '../../resources/definition/resource.ts';
import { FAMILIES } from '../../resources/families.ts';
import type { Family } from '../crud/family.ts';
import type { Hooks } from '../crud/hooks.ts';
import { MODULE_SECRETS } from '../crud/module-store.ts';
import { mount } from '../crud/mount.ts';
import { sealedColumnsOf, sealPlain } from '../crud/sealed-fields.ts';
import type { Operation } from '../http/operation.ts';
import type { SealedColumn } from '../secrets/rotation.ts';
import type { Secrets } from '../secrets/sealing.ts';
import type { Database } from '../store/database.ts';
import { accounts } from './account.ts';
import { apiKeys } from './api-key.ts';
import { botUsers } from './bot-user.ts';
import { certificateAuthorities } from './certificate-authority.ts';
import { credentials } from './credential.ts';
import { getEvent, listEvents } from './event.ts';
import { getEventDelivery, listEventDeliveries, redeliver, replayEvents } from './event-delivery.ts';
import { eventDestinations } from './event-destination.ts';
import { eventSubscriptions } from './event-subscription.ts';
import { listEventTypes } from './event-types.ts';
import { httpResponseBackends } from './http-response-backend.ts';
import { httpsEdges } from './https-edge.ts';
import { httpsEdgeRoutes } from './https-edge-route.ts';
import { closeIdempotencyKey } from './idempotency-keys.ts';
import { closeIdempotencyScope, getIdempotencyScope } from './idempotency-scopes.ts';
import { ipPolicies } from './ip-policy.ts';
import { ipPolicyRules } from './ip-policy-rule.ts';
import { getAccountUsage, getOwnAccount } from './own-account.ts';
import { ACCOUNT_KEYS, reservedDomains } from './reserved-domain.ts';
import { managerOperations } from './resource-managers.ts';
import { sshCertificateAuthorities } from './ssh-certificate-authority.ts';
import { sshHostCertificates } from './ssh-host-certificate.ts';
import { tlsCertificates } from './tls-certificate.ts';
import { tlsEdges } from './tls-edge.ts';
import { users } from './user.ts';
import { getWhoami } from './whoami.ts';

/** Families with hooks or further operations; every other one has just the five operations. */
const SPECIAL = [
  ipPolicies,
  ipPolicyRules,
  credentials,
  httpResponseBackends,
  reservedDomains,
  httpsEdges,
  httpsEdgeRoutes,
  tlsEdges,
  eventSubscriptions,
  eventDestinations,
  certificateAuthorities,
  tlsCertificates,
  sshCertificateAuthorities,
  sshHostCertificates,
  botUsers,
  users,
  apiKeys,
  accounts,
];

export type Mounted = Pick<Family, 'operations' | 'rows' | 'require' | 'detach'> & {
  readonly resource: Resource;
  /** Only their names matter here; their parameters differ from family to family. */
  readonly hooks: { readonly [name in keyof Hooks]?: unknown } & Pick<Hooks, 'sealed'>;
};

export const MOUNTED: readonly Mounted[] = FAMILIES.map(
  (resource) => SPECIAL.find((family) => family.resource.name === resource.name) ?? mount(resource),
);

export const OPERATIONS: readonly Operation[] = [
  ...MOUNTED.flatMap(({ operations }) => operations),
  listEventTypes,
  listEvents,
  getEvent,
  listEventDeliveries,
  getEventDelivery,
  redeliver,
  replayEvents,
  getWhoami,
  getOwnAccount,
  getAccountUsage,
  closeIdempotencyKey,
  getIdempotencyScope,
  closeIdempotencyScope,
  ...managerOperations(MOUNTED),
];

/** The columns with secrets: what a rotation of the encryption key has to re-encrypt. */
export const SEALED: readonly SealedColumn[] = [
  MODULE_SECRETS,
  ACCOUNT_KEYS,
  ...MOUNTED.flatMap(({ resource, hooks }) => [
    ...(hooks.sealed ?? []).map((column) => ({ table: resource.table, column })),
    ...sealedColumnsOf(resource),
  ]),
];

/** Seals secrets that an earlier release stored in plain; returns how many there were. */
export const sealPlainSecrets = (db: Database, secrets: Secrets, signal?: AbortSignal) =>
  sealPlain(db, secrets, FAMILIES, signal);
