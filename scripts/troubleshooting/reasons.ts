/** What docs/troubleshooting.md says about every reason that the operator gives. */
import type { EVENT_REASON, REASON } from '../../src/operator/contract/reasons.ts';
import type { AnyKind } from '../../src/operator/managed/kind.ts';
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
    meaning: 'The resource matches the spec, and its token, if it has one, is in the Secret.',
  },
  upToDate: {
    concern: 'nobody',
    on: '`Synced`',
    meaning: 'The last reconcile found or made the resource as the spec says.',
  },
  driftCorrected: {
    concern: 'nobody',
    on: '`Synced`',
    meaning:
      'Somebody changed the resource in the API, and the operator reverted it; the message names the fields. Stays until the object changes.',
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
    meaning: 'The domain has a certificate. During a renewal, the message is about that.',
  },
  pending: {
    concern: 'nobody',
    on: CERTIFICATE,
    kinds: isDomain,
    meaning:
      'The certificate is requested, and not issued yet; the message says how far the service is, as in `waiting to be started`. This release issues none: name a `certificateRef`.',
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
  companionWritten: { concern: 'nobody', on: PUBLISHED, kinds: isDomain, meaning: 'The DNSEndpoint has the records.' },
  companionNotWanted: {
    concern: 'nobody',
    on: PUBLISHED,
    kinds: isDomain,
    meaning: 'The spec no longer asks for a DNSEndpoint.',
  },

  rejected: {
    concern: 'spec',
    on: READY,
    meaning: 'The API refuses the spec, or the resource to adopt differs in a field that cannot change.',
    remedy: 'Change the fields that the message names, or create another object.',
  },
  paused: {
    concern: 'spec',
    on: '`Synced`',
    meaning: 'The annotation `tunnel-operator.dev/paused` is set: nothing is done, not even a deletion.',
    remedy: 'Remove the annotation.',
  },
  externalNotFound: {
    concern: 'spec',
    on: READY,
    meaning: 'The resource to adopt, to observe, or whose modules are declared does not exist.',
    remedy:
      'Correct the annotation `tunnel-operator.dev/adopt` or the reference. Without the annotation, a new resource is created.',
  },
  nothingToObserve: {
    concern: 'spec',
    on: READY,
    kinds: ({ ownerOf }) => ownerOf === undefined,
    meaning: '`managementPolicy: Observe`, but no resource is named.',
    remedy: 'Set the annotation `tunnel-operator.dev/adopt`, or `managementPolicy: Manage`.',
  },
  secretConflict: {
    concern: 'spec',
    on: READY,
    kinds: hasSecret,
    meaning:
      "A Secret of that name belongs to something else, or is the object's own but immutable, of another type or being deleted, or something else keeps changing it. Until this is solved, nothing is issued, and a token in use goes on working; only where something keeps changing the Secret, another token is issued after a pause that doubles each time, up to ten minutes, and the one before is revoked.",
    remedy:
      'What the message names: another `spec.secret.name`, deleting the Secret, or adopting the credential whose token it holds. That the Secret is gone is noticed within ten minutes; with the annotation `tunnel-operator.dev/reconcile-requested-at`, at once.',
  },
  expired: {
    concern: 'spec',
    on: '`Ready`',
    kinds: ({ end }) => end !== undefined,
    meaning:
      'The resource is as declared, but has come to its end: the key, or the certificate, is of no use any more.',
    remedy: 'What the message names: a later end in the spec, or another certificate in the Secret or ConfigMap.',
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
    meaning: 'The service has not found the DNS records; it looks again by itself.',
    remedy: 'Create the records in `status.dnsRecords`; the message says which one is missing.',
  },
  companionConflict: {
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
    remedy: 'See what that object says, or do what the message says.',
  },
  referenceDeleting: {
    concern: 'another object',
    on: RESOLVED,
    kinds: hasReferences,
    meaning: 'An object that the spec names is being deleted, and waits for this one.',
    remedy: 'What the message says: refer to another, or delete this one, too.',
  },
  referenceNotPermitted: {
    concern: 'another object',
    on: RESOLVED,
    kinds: hasReferences,
    meaning:
      'No ReferenceGrant in the other namespace permits the reference, or the operator cannot see them: the cluster has none, it may not list them, or it does not watch that namespace. Whether the object exists is not told.',
    remedy: 'Have the ReferenceGrant created there whose spec the message has, or do what the message says.',
  },
  sourceNotFound: {
    concern: 'another object',
    on: RESOLVED,
    kinds: hasSources,
    meaning: 'A Secret or ConfigMap that the spec names does not exist, or lacks the key.',
    remedy: 'Create it, or correct name and key.',
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
      'Another object declares modules for it that are not set yet, or may do so, but the operator may not list those objects. Without them it would serve everybody, so it has no backend.',
    remedy: 'See what the object says that the message names, or grant the operator what the message says it lacks.',
  },
  managementConflict: {
    concern: 'another object',
    on: READY,
    meaning: 'Another object manages the same resource, or an older one is to adopt it.',
    remedy: 'Keep one of the two. The other takes over as soon as the first gives the resource up.',
  },
  deletionBlocked: {
    concern: 'another object',
    on: READY,
    meaning:
      'The object is deleted once nothing refers to it any more. The message says who is waited for. As an Event of an object that is not being deleted: the same of the resource that it had before; that is tried again up to once an hour.',
    remedy: 'Delete what refers to it, or let it refer to something else.',
  },

  accessDenied: {
    concern: 'administrator',
    on: READY,
    meaning:
      "The operator's API key is invalid or lacks a right; its owner may not see a resource that may exist; the namespace may not adopt or name ids; or an APIKey belongs to no bot.",
    remedy:
      'The message says which. See [Changing the API key](operator.md#changing-the-api-key) and [adoption](operator.md#what-you-can-tell-it).',
  },
  apiUnavailable: {
    concern: 'administrator',
    on: '`Synced`; `Ready`, unless it was True',
    meaning:
      'The API does not respond, is failing or limits requests, or something else answers at its URL. Shown only if it lasts; an object that was Ready stays so.',
    remedy: 'Look at the API: `/readyz`, its log, and its [runbooks](runbooks.md). The operator goes on by itself.',
  },
  kubernetesError: {
    concern: 'administrator',
    on: READY,
    meaning:
      'The Kubernetes API refuses a write, is failing, answers 404 or 409 although the object has not changed, or would store a Secret otherwise than it is written.',
    remedy:
      "What the message says. Compare the operator's roles with those of the chart; look for admission policies, mutating webhooks and quotas.",
  },
  internalError: {
    concern: 'administrator',
    on: `\`Synced\`, ${CERTIFICATE}`,
    meaning: 'An unexpected error. On `CertificateReady`, one of the service that issues certificates.',
    remedy: "Look in the operator's log, and report it. It is tried again.",
  },
  companionKindMissing: {
    concern: 'administrator',
    on: PUBLISHED,
    kinds: isDomain,
    meaning: 'The cluster has no DNSEndpoints.',
    remedy: "Install ExternalDNS's CustomResourceDefinition; the operator notices within a minute.",
  },
  companionRefused: {
    concern: 'administrator',
    on: PUBLISHED,
    kinds: isDomain,
    meaning:
      'The cluster does not let the operator write the DNSEndpoint, or does not answer. The domain itself is not affected.',
    remedy:
      'The message says what refused it, a missing right or a policy, or that nothing answered. It is tried again every minute.',
  },
};

/** What has happened. Failures are Events, too, with the reason of the condition. */
export const EVENT_TEXTS: Readonly<Record<keyof typeof EVENT_REASON, string>> = {
  created: 'A resource was created for the object.',
  adopted: 'An existing resource was adopted.',
  adoptionIgnored: 'The annotation `adopt` came too late: the object has a resource already.',
  updated: 'The resource was changed as the spec says; the message names the fields.',
  deleted: 'The resource was deleted with its object.',
  retained: 'The object is gone, and its resource stays.',
  driftCorrected: 'A change that somebody made in the API was reverted.',
  recreated: 'The resource was deleted in the API. A new one is created.',
  replaced:
    'Another resource has taken the place of one that could not be changed, of a host certificate that was due or was to be issued anew, or of one that the spec no longer asks for. The message says why.',
  gaveWay: 'Gave up a path or hostport that another object asks for.',
  identityRestored: "The operator's annotations were lost or edited, and are restored.",
  tokenReissued: 'The token in the Secret was lost or edited: a new one is issued, and then the old one is revoked.',
  tokenRotated: 'A new token is issued; once it is in the Secret, the old one works until the overlap is over.',
  retired: 'The overlap is over: the old token is revoked.',
  supersededDeleted: 'A replaced resource was deleted.',
};
