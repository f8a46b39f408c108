/** What docs/troubleshooting.md says about every reason that the operator gives. */
import type { EVENT_REASON, REASON } from '../../src/operator/contract/reasons.ts';

/** Who can do something about it. The page has a table for each. */
export type Concern = 'nobody' | 'spec' | 'another object' | 'administrator';

export interface ReasonText {
  concern: Concern;
  /** The conditions that have the reason. */
  on: string;
  meaning: string;
  /** What to do; absent if nothing needs to be done. */
  remedy?: string;
}

const READY = '`Ready`, `Synced`';
const RESOLVED = '`Ready`, `Synced`, `ReferencesResolved`';
const CONNECTION = '`Ready`, `Synced`, `ConnectionResolved`';
const CERTIFICATE = '`CertificateReady`';
const DNS = '`DNSConfigured`';
const DELIVERING = '`Delivering`';
const PUBLISHED = '`DNSPublished`';

/** The type requires a text for every reason. */
export const REASON_TEXTS: Readonly<Record<keyof typeof REASON, ReasonText>> = {
  available: {
    concern: 'nobody',
    on: '`Ready`',
    meaning: 'The resource matches the spec, and its token is in the Secret.',
  },
  upToDate: {
    concern: 'nobody',
    on: '`Synced`',
    meaning: 'The resource matched the spec after the last reconcile.',
  },
  driftCorrected: {
    concern: 'nobody',
    on: '`Synced`',
    meaning:
      'The operator reverted a change made in the API; the message names the fields. Stays until the object changes.',
  },
  observed: {
    concern: 'nobody',
    on: '`Synced`',
    meaning: '`managementPolicy: Observe`: the resource is only read; the message names the fields that differ.',
  },
  connectionNotFound: {
    concern: 'another object',
    on: CONNECTION,
    meaning:
      'Nothing says which connection to the management API the object uses, or its namespace may not use that one.',
    remedy: 'The message says what to create. See [connections](operator/connections.md).',
  },
  connectionNotReady: {
    concern: 'another object',
    on: CONNECTION,
    meaning: 'The APIConnection, ClusterAPIConnection or Account that the object uses is not Ready, or not known yet.',
    remedy: 'See the conditions of the connection. The object goes on by itself.',
  },
  resolved: {
    concern: 'nobody',
    on: '`ReferencesResolved`, `ConnectionResolved`',
    meaning: 'Everything that the spec names is there; there is a connection to the management API.',
  },
  issued: {
    concern: 'nobody',
    on: CERTIFICATE,
    meaning: 'The domain has a certificate for its name, valid now. The message has remarks, and describes a renewal.',
  },
  active: { concern: 'nobody', on: DELIVERING, meaning: 'Events are sent to the destination.' },
  pending: {
    concern: 'nobody',
    on: `\`Ready\`, ${CERTIFICATE}`,
    meaning:
      'On `Ready`: the operator has not seen the object yet. If this lasts, check that it runs and watches the namespace. On `CertificateReady`: the certificate is requested but not issued. The message says what it waits for; see [automatic certificates](certificates.md#set-up).',
  },
  notRequested: {
    concern: 'nobody',
    on: CERTIFICATE,
    meaning: 'The spec has neither `certificateRef` nor `certificateManagementPolicy`.',
  },
  checked: { concern: 'nobody', on: DNS, meaning: 'The service has found the DNS records.' },
  notNeeded: { concern: 'nobody', on: DNS, meaning: "The domain is below one of the service's own." },
  notChecked: {
    concern: 'nobody',
    on: `${DNS}, ${CERTIFICATE}`,
    meaning:
      "Unknown. `DNSConfigured`: the service looks only when it issues a certificate. `CertificateReady`: the operator's API key may not see the certificate.",
  },
  published: { concern: 'nobody', on: PUBLISHED, meaning: 'The DNSEndpoint has the records.' },

  rejected: {
    concern: 'spec',
    on: READY,
    meaning: 'The API refuses the spec, or the resource to adopt differs in a field that cannot change.',
    remedy: 'Change the fields that the message names, or create another object.',
  },
  failing: {
    concern: 'another object',
    on: DELIVERING,
    meaning:
      'The last delivery failed; the message says why. It is tried again for three days, then the destination is paused.',
    remedy: 'Repair the receiver; `POST /event_destinations/{id}/test` tries it at once.',
  },
  paused: {
    concern: 'spec',
    on: `${READY}, ${DELIVERING}`,
    meaning:
      'The annotation `tunnel-operator.dev/paused` is set: nothing is done, not even a deletion. On `Delivering`: the destination is paused at the API, by somebody or because its receiver takes no events; the message says why.',
    remedy:
      'Remove the annotation. On `Delivering`: repair the receiver, then resume the destination (`POST /event_destinations/{id}/resume`).',
  },
  externalNotFound: {
    concern: 'spec',
    on: READY,
    meaning: 'The resource that the object adopts, observes or declares modules for does not exist.',
    remedy:
      'Correct the annotation `tunnel-operator.dev/adopt` or the reference. Without the annotation, a new resource is created.',
  },
  nothingToObserve: {
    concern: 'spec',
    on: READY,
    meaning: '`managementPolicy: Observe`, but no resource is named.',
    remedy: 'Set the annotation `tunnel-operator.dev/adopt`, or `managementPolicy: Manage`.',
  },
  secretConflict: {
    concern: 'spec',
    on: READY,
    meaning:
      'The Secret is immutable, is being deleted, has another type or belongs to something else, or something keeps changing it. A token in use keeps working.',
    remedy:
      'Follow the message: name another `spec.secret.name`, delete the Secret, or adopt its credential. The operator checks again within ten minutes.',
  },
  expired: {
    concern: 'spec',
    on: `\`Ready\`, ${CERTIFICATE}`,
    meaning: 'The key or certificate has expired, or an issuer in its chain.',
    remedy:
      'Set a later end in the spec, or put another certificate into the Secret or ConfigMap. The message says which.',
  },
  nameMismatch: {
    concern: 'spec',
    on: `${CERTIFICATE}; \`Ready\`, \`Synced\` if it is in the spec`,
    meaning: 'The certificate is for other names; the message has both. A domain keeps the certificate that it had.',
    remedy:
      'Name a certificate for the domain in `certificateRef`, or put one into the Secret of its TLSCertificate. `*.example.com` is for names one level below `example.com`.',
  },
  notYetValid: {
    concern: 'spec',
    on: CERTIFICATE,
    meaning: 'The validity of the certificate begins later; the message says when.',
    remedy: 'Wait, or name another certificate. If it should be valid by now, check the clock of its issuer.',
  },
  tokenUnavailable: {
    concern: 'spec',
    on: '`Ready`',
    meaning: 'An adopted credential works, but its token cannot be read from the API.',
    remedy: 'Set the annotation `tunnel-operator.dev/rotate-requested-at` to get a new token.',
  },
  dnsError: {
    concern: 'spec',
    on: `${DNS}, ${CERTIFICATE}`,
    meaning: 'The service has not found the DNS records. It checks again by itself.',
    remedy: 'Create the records in `status.dnsRecords`; the message says which one is missing.',
  },
  publishConflict: {
    concern: 'spec',
    on: PUBLISHED,
    meaning: 'A DNSEndpoint of that name belongs to something else.',
    remedy: 'Delete it, or rename the object.',
  },

  referenceNotFound: {
    concern: 'another object',
    on: RESOLVED,
    meaning: 'An object that the spec names does not exist.',
    remedy: 'Create it, or correct the name.',
  },
  referenceNotReady: {
    concern: 'another object',
    on: RESOLVED,
    meaning:
      'An object that the spec names has no resource yet, or the operator cannot list its kind or does not watch its namespace.',
    remedy: 'Look at that object, or follow the message.',
  },
  referenceDeleting: {
    concern: 'another object',
    on: RESOLVED,
    meaning: 'An object that the spec names is being deleted and waits for this one.',
    remedy: 'Refer to another object, or delete this one as well.',
  },
  referenceNotPermitted: {
    concern: 'another object',
    on: RESOLVED,
    meaning: 'No ReferenceGrant in the other namespace permits the reference, or the operator cannot see it.',
    remedy: 'Create the ReferenceGrant whose spec the message shows, or follow the message.',
  },
  sourceNotFound: {
    concern: 'another object',
    on: RESOLVED,
    meaning: 'A Secret or ConfigMap that the spec names does not exist, or lacks the key.',
    remedy: 'Create it, or correct the name and the key.',
  },
  sourceInvalid: {
    concern: 'another object',
    on: RESOLVED,
    meaning: 'The field does not take the text in the Secret or ConfigMap. The message says why, without the text.',
    remedy: 'Correct the text.',
  },
  waitingForModules: {
    concern: 'another object',
    on: READY,
    meaning:
      'The modules declared for the route are not set yet, or the operator may not list them or does not watch their namespace. Until they are, the route has no backend, since it would be open to everybody.',
    remedy: 'Look at the object that the message names, or follow the message.',
  },
  managementConflict: {
    concern: 'another object',
    on: READY,
    meaning:
      'Another object manages the same resource, or an older object adopts it. The message names it, with its cluster if it may be another one.',
    remedy:
      'Keep one of the two. The other takes over when the first one gives the resource up. If the first is lost, [take over](operator/clusters.md#take-over).',
  },
  deletionBlocked: {
    concern: 'another object',
    on: READY,
    meaning: 'The object is deleted once nothing refers to it; the message names the referrers.',
    remedy: 'Delete the referrers, or let them refer to something else.',
  },

  accessDenied: {
    concern: 'administrator',
    on: READY,
    meaning:
      "The operator's API key is invalid or lacks a right, the namespace may not adopt or name ids, or an APIKey belongs to no bot. The message says which.",
    remedy: 'See [Changing the API key](operator/api-key.md) and [adoption](operator/adoption.md#who-may-adopt).',
  },
  apiUnavailable: {
    concern: 'administrator',
    on: '`Synced`; `Ready`, unless it was True',
    meaning:
      'The API does not respond, fails or limits requests, or something else answers at its URL. If no connection comes about, the message says why: the host is not found, the connection is refused, or TLS is missing. An object that was Ready stays Ready.',
    remedy: 'Look at the API: `/readyz`, its log, and its [runbooks](runbooks.md). The operator continues by itself.',
  },
  kubernetesError: {
    concern: 'administrator',
    on: READY,
    meaning:
      'The Kubernetes API refuses a write, fails, or would store a Secret differently from what the operator writes.',
    remedy: "Follow the message: look at the operator's roles, admission policies, mutating webhooks and quotas.",
  },
  internalError: {
    concern: 'administrator',
    on: `\`Synced\`, ${CERTIFICATE}`,
    meaning: 'An unexpected error; on `CertificateReady`, in the service that issues certificates.',
    remedy: "Look in the operator's log, and report it. The operator tries again.",
  },
  kindNotInstalled: {
    concern: 'administrator',
    on: PUBLISHED,
    meaning: 'The cluster has no DNSEndpoints.',
    remedy: "Install ExternalDNS's CustomResourceDefinition; the operator notices within a minute.",
  },
  publishRefused: {
    concern: 'administrator',
    on: PUBLISHED,
    meaning: 'The cluster refuses the DNSEndpoint or does not answer. The domain itself is not affected.',
    remedy: 'Grant the right or change the policy that the message names. The operator tries again every minute.',
  },
};

/** What each Event reports. Failures are Events as well, with the reason of the condition. */
export const EVENT_TEXTS: Readonly<Record<keyof typeof EVENT_REASON, string>> = {
  created: 'A resource was created for the object.',
  adopted: 'An existing resource was adopted.',
  takenOver: 'The resource was taken over from another manager, which the message names.',
  adoptionIgnored: 'The annotation `adopt` has no effect: the object has a resource already.',
  updated: 'The resource was changed to match the spec; the message names the fields.',
  deleted: 'The resource was deleted with its object.',
  retained: 'The object is gone, and its resource stays: as its policy says, or since another object manages it.',
  driftCorrected: 'A change made in the API was reverted.',
  recreated: 'The resource was deleted in the API. A new one is created.',
  replaced: 'A new resource has replaced the previous one; the message says why.',
  identityRestored: "The operator's annotations were lost or edited; they were restored.",
  tokenReissued:
    'The token in the Secret was lost or edited. A new one was issued, and the old one revoked; an old signing secret works until the overlap is over.',
  tokenRotated: 'A new token was issued. The old one works until the overlap is over.',
  retired: 'The overlap is over; the old token was revoked.',
  supersededDeleted: 'A replaced resource was deleted.',
  certificateIssued: 'The first automatic certificate of the domain is in use; the message says until when.',
  certificateRenewed: 'The automatic certificate of the domain was renewed.',
  certificateFailed:
    'An automatic certificate could not be issued or renewed; the message says why. A certificate in use stays. The service tries again by itself.',
};
