/** What docs/troubleshooting.md says about every reason that the operator gives. */
import type { EVENT_REASON, REASON } from '../../src/operator/contract/reasons.ts';
import type { AnyKind } from '../../src/operator/managed/declaration/kind.ts';
import { hasReferences, hasSources } from './uses.ts';

/** Who can do something about it. The page has a table for each. */
export type Concern = 'nobody' | 'spec' | 'another object' | 'administrator';

export interface ReasonText {
  concern: Concern;
  /** The conditions that have the reason. */
  on: string;
  /** The kinds that can have it; all, unless told. */
  kinds?: (kind: AnyKind) => boolean;
  meaning: string;
  /** What to do; nothing, unless told. */
  remedy?: string;
}

const READY = '`Ready`, `Synced`';
const RESOLVED = '`Ready`, `Synced`, `ReferencesResolved`';
const CERTIFICATE = '`CertificateReady`';
const DNS = '`DNSConfigured`';
const PUBLISHED = '`DNSPublished`';

const isDomain = ({ kind }: AnyKind) => kind === 'ReservedDomain';
const hasSecret = ({ delivery }: AnyKind) => delivery !== undefined;
/** A certificate can be read from the API again. */
const hasOneTimeValue = (kind: AnyKind) => hasSecret(kind) && kind.kind !== 'SSHHostCertificate';

/** A reason without a text does not compile. */
export const REASON_TEXTS: Readonly<Record<keyof typeof REASON, ReasonText>> = {
  available: {
    concern: 'nobody',
    on: '`Ready`',
    meaning: 'The resource matches the spec. Its token, if it has one, is in the Secret.',
  },
  upToDate: {
    concern: 'nobody',
    on: '`Synced`',
    meaning: 'The last reconcile found the resource as the spec says, or changed it accordingly.',
  },
  driftCorrected: {
    concern: 'nobody',
    on: '`Synced`',
    meaning:
      'The operator reverted a change that was made in the API; the message names the fields. Stays until the object changes.',
  },
  observed: {
    concern: 'nobody',
    on: '`Synced`',
    meaning: '`managementPolicy: Observe`: the resource is only read; the message names the fields that differ.',
  },
  resolved: {
    concern: 'nobody',
    on: '`ReferencesResolved`',
    kinds: (kind) => hasReferences(kind) || hasSources(kind),
    meaning: 'Everything that the spec names is there.',
  },
  issued: {
    concern: 'nobody',
    on: CERTIFICATE,
    kinds: isDomain,
    meaning: 'The domain has a certificate. During a renewal, the message describes the renewal.',
  },
  pending: {
    concern: 'nobody',
    on: CERTIFICATE,
    kinds: isDomain,
    meaning:
      'The certificate is requested but not issued yet; the message shows the progress. This release issues none: name a `certificateRef`.',
  },
  notRequested: {
    concern: 'nobody',
    on: CERTIFICATE,
    kinds: isDomain,
    meaning: 'The spec has neither `certificateRef` nor `certificateManagementPolicy`.',
  },
  checked: { concern: 'nobody', on: DNS, kinds: isDomain, meaning: 'The service has found the DNS records.' },
  notNeeded: { concern: 'nobody', on: DNS, kinds: isDomain, meaning: "The domain is below one of the service's own." },
  notChecked: {
    concern: 'nobody',
    on: DNS,
    kinds: isDomain,
    meaning: 'Unknown: the service looks only when it issues a certificate.',
  },
  published: { concern: 'nobody', on: PUBLISHED, kinds: isDomain, meaning: 'The DNSEndpoint has the records.' },

  rejected: {
    concern: 'spec',
    on: READY,
    meaning: 'The API refuses the spec, or the resource to adopt differs in a field that cannot change.',
    remedy: 'Change the fields that the message names, or create another object.',
  },
  paused: {
    concern: 'spec',
    on: '`Synced`',
    meaning: 'The annotation `tunnel-operator.dev/paused` is set. Nothing is done, not even a deletion.',
    remedy: 'Remove the annotation.',
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
    kinds: ({ owner }) => owner === undefined,
    meaning: '`managementPolicy: Observe`, but no resource is named.',
    remedy: 'Set the annotation `tunnel-operator.dev/adopt`, or `managementPolicy: Manage`.',
  },
  secretConflict: {
    concern: 'spec',
    on: READY,
    kinds: hasSecret,
    meaning:
      'The Secret belongs to something else, is immutable, has another type or is being deleted, or something keeps changing it. Nothing is issued meanwhile, and a token in use keeps working. While something keeps changing the Secret, new tokens come after growing pauses, up to ten minutes.',
    remedy:
      'Follow the message: name another `spec.secret.name`, delete the Secret, or adopt its credential. The operator checks again within ten minutes; the annotation `tunnel-operator.dev/reconcile-requested-at` makes it check at once.',
  },
  expired: {
    concern: 'spec',
    on: '`Ready`',
    kinds: ({ end }) => end !== undefined,
    meaning: 'The key or certificate has expired.',
    remedy:
      'Set a later end in the spec, or put another certificate into the Secret or ConfigMap. The message says which.',
  },
  tokenUnavailable: {
    concern: 'spec',
    on: '`Ready`',
    kinds: hasOneTimeValue,
    meaning: 'An adopted credential works, but its token cannot be read from the API.',
    remedy: 'Set the annotation `tunnel-operator.dev/rotate-requested-at` to get a new token.',
  },
  dnsError: {
    concern: 'spec',
    on: `${DNS}, ${CERTIFICATE}`,
    kinds: isDomain,
    meaning: 'The service has not found the DNS records. It checks again by itself.',
    remedy: 'Create the records in `status.dnsRecords`; the message says which one is missing.',
  },
  publishConflict: {
    concern: 'spec',
    on: PUBLISHED,
    kinds: isDomain,
    meaning: 'A DNSEndpoint of that name belongs to something else.',
    remedy: 'Delete it, or rename the object.',
  },

  referenceNotFound: {
    concern: 'another object',
    on: RESOLVED,
    kinds: hasReferences,
    meaning: 'An object that the spec names does not exist.',
    remedy: 'Create it, or correct the name.',
  },
  referenceNotReady: {
    concern: 'another object',
    on: RESOLVED,
    kinds: hasReferences,
    meaning: 'An object that the spec names has no resource yet, or the operator cannot list its kind.',
    remedy: 'Look at that object, or follow the message.',
  },
  referenceDeleting: {
    concern: 'another object',
    on: RESOLVED,
    kinds: hasReferences,
    meaning: 'An object that the spec names is being deleted and waits for this one.',
    remedy: 'Refer to another object, or delete this one as well.',
  },
  referenceNotPermitted: {
    concern: 'another object',
    on: RESOLVED,
    kinds: hasReferences,
    meaning:
      'No ReferenceGrant in the other namespace permits the reference, or the operator cannot see it. The message does not reveal whether the object exists.',
    remedy: 'Create the ReferenceGrant whose spec the message shows, or follow the message.',
  },
  sourceNotFound: {
    concern: 'another object',
    on: RESOLVED,
    kinds: hasSources,
    meaning: 'A Secret or ConfigMap that the spec names does not exist, or lacks the key.',
    remedy: 'Create it, or correct the name and the key.',
  },
  sourceInvalid: {
    concern: 'another object',
    on: RESOLVED,
    kinds: hasSources,
    meaning: 'The field does not take the text in the Secret or ConfigMap. The message says why, without the text.',
    remedy: 'Correct the text.',
  },
  waitingForModules: {
    concern: 'another object',
    on: READY,
    kinds: ({ unserved }) => unserved !== undefined,
    meaning:
      'The modules declared for the route are not set yet, or the operator may not list them. Without them the route would be open to everybody, so it has no backend.',
    remedy: 'Look at the object that the message names, or grant the right that the message names.',
  },
  managementConflict: {
    concern: 'another object',
    on: READY,
    meaning: 'Another object manages the same resource, or an older object adopts it.',
    remedy: 'Keep one of the two. The other takes over when the first one gives the resource up.',
  },
  deletionBlocked: {
    concern: 'another object',
    on: READY,
    meaning:
      'The object is deleted once nothing refers to it; the message names the referrers. As an Event of an object that is not being deleted: its previous resource is still referred to.',
    remedy: 'Delete the referrers, or let them refer to something else.',
  },

  accessDenied: {
    concern: 'administrator',
    on: READY,
    meaning:
      "The operator's API key is invalid or lacks a right, its owner may not see the resource, the namespace may not adopt or name ids, or an APIKey belongs to no bot. The message says which.",
    remedy: 'See [Changing the API key](operator/api-key.md) and [adoption](operator/adoption.md#who-may-adopt).',
  },
  apiUnavailable: {
    concern: 'administrator',
    on: '`Synced`; `Ready`, unless it was True',
    meaning:
      'The API does not respond, fails or limits requests, or something else answers at its URL. Shown only if it lasts; an object that was Ready stays Ready.',
    remedy: 'Look at the API: `/readyz`, its log, and its [runbooks](runbooks.md). The operator continues by itself.',
  },
  kubernetesError: {
    concern: 'administrator',
    on: READY,
    meaning:
      'The Kubernetes API refuses a write, fails, or would store a Secret differently from what the operator writes.',
    remedy:
      "Follow the message. Compare the operator's roles with those of the chart, and look for admission policies, mutating webhooks and quotas.",
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
    kinds: isDomain,
    meaning: 'The cluster has no DNSEndpoints.',
    remedy: "Install ExternalDNS's CustomResourceDefinition; the operator notices within a minute.",
  },
  publishRefused: {
    concern: 'administrator',
    on: PUBLISHED,
    kinds: isDomain,
    meaning:
      'The cluster refuses the DNSEndpoint or does not answer; the message says why. The domain itself is not affected.',
    remedy: 'Grant the right or change the policy that the message names. The operator tries again every minute.',
  },
};

/** What has happened. Failures are Events, too, with the reason of the condition. */
export const EVENT_TEXTS: Readonly<Record<keyof typeof EVENT_REASON, string>> = {
  created: 'A resource was created for the object.',
  adopted: 'An existing resource was adopted.',
  adoptionIgnored: 'The annotation `adopt` has no effect: the object has a resource already.',
  updated: 'The resource was changed to match the spec; the message names the fields.',
  deleted: 'The resource was deleted with its object.',
  retained: 'The object is gone, and its resource stays.',
  driftCorrected: 'A change made in the API was reverted.',
  recreated: 'The resource was deleted in the API. A new one is created.',
  replaced: 'A new resource has replaced the previous one; the message says why.',
  identityRestored: "The operator's annotations were lost or edited; they are restored.",
  tokenReissued: 'The token in the Secret was lost or edited. A new one was issued, and the old one is revoked.',
  tokenRotated: 'A new token was issued. The old one works until the overlap is over.',
  retired: 'The overlap is over; the old token was revoked.',
  supersededDeleted: 'A replaced resource was deleted.',
};
