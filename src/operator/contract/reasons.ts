/** Every reason of a condition or Kubernetes Event. Scripts match on these: they are part of the interface. */

export const CONDITION = {
  ready: 'Ready',
  synced: 'Synced',
  referencesResolved: 'ReferencesResolved',
  /** Of objects that do not use the operator's own API key. */
  connectionResolved: 'ConnectionResolved',
  dnsPublished: 'DNSPublished',
  /** For kstatus; absent if not True: the operator is still working towards Ready. */
  reconciling: 'Reconciling',
  /** For kstatus; absent if not True: Ready needs somebody to change something. */
  stalled: 'Stalled',
  certificateReady: 'CertificateReady',
  /** Of an event destination. */
  delivering: 'Delivering',
} as const;

export const REASON = {
  /** Ready: the remote resource matches the spec (and its token is in the Secret). */
  available: 'Available',
  /**
   * Ready: the remote resource is past its end; only the spec, or what it takes from elsewhere, can change that.
   * CertificateReady: the certificate of the domain, or an issuer in its chain, is.
   */
  expired: 'Expired',
  /** Synced: after the last reconcile, the remote resource matches the spec. */
  upToDate: 'UpToDate',
  /** Synced: the remote resource was changed behind the operator's back, and the change was reverted. */
  driftCorrected: 'DriftCorrected',
  /** Synced: managementPolicy Observe; nothing is written. */
  observed: 'Observed',
  /** Ready and Synced: the annotation `paused` stops all work. Delivering: the destination is paused at the API. */
  paused: 'Paused',
  /** The API rejects the spec; the message names the fields. */
  rejected: 'Rejected',
  /** The operator's API key is invalid, or lacks permission. */
  accessDenied: 'AccessDenied',
  /** The API cannot be reached or is failing; retried. */
  apiUnavailable: 'ApiUnavailable',
  /** The Kubernetes API rejects a write by the operator. */
  kubernetesError: 'KubernetesError',
  /** An unexpected error; the log has the details. */
  internalError: 'InternalError',
  /** Another object, perhaps in another cluster, manages the same remote resource or goes before this one in claiming it. */
  managementConflict: 'ManagementConflict',
  /** The resource named by `adopt`, or the one whose modules the object declares, does not exist. */
  externalNotFound: 'ExternalNotFound',
  /** managementPolicy Observe without an id to observe. */
  nothingToObserve: 'NothingToObserve',
  /** DNSPublished: the DNSEndpoint has the records. */
  published: 'Published',
  /** DNSPublished: the cluster has no DNSEndpoints. */
  kindNotInstalled: 'KindNotInstalled',
  /** DNSPublished: a DNSEndpoint of that name belongs to something else. */
  publishConflict: 'PublishConflict',
  /** DNSPublished: the cluster does not let the operator write the DNSEndpoint. */
  publishRefused: 'PublishRefused',
  /** What would serve waits for the modules that another object declares. */
  waitingForModules: 'WaitingForModules',
  /** A Secret of that name exists and belongs to something else. */
  secretConflict: 'SecretConflict',
  /** The token of an adopted credential cannot be read; rotate to get a new one. */
  tokenUnavailable: 'TokenUnavailable',
  /** ReferencesResolved: every object, Secret and ConfigMap that the spec names is there. */
  resolved: 'Resolved',
  /** An object that the spec names does not exist. */
  referenceNotFound: 'ReferenceNotFound',
  /** An object that the spec names has no resource yet, or nothing is known of its kind. */
  referenceNotReady: 'ReferenceNotReady',
  /** An object that the spec names is being deleted. */
  referenceDeleting: 'ReferenceDeleting',
  /** No ReferenceGrant permits the reference into another namespace. */
  referenceNotPermitted: 'ReferenceNotPermitted',
  /** Nothing says which connection to the API the object uses, or it may not use that one. */
  connectionNotFound: 'ConnectionNotFound',
  /** The connection to the API that the object uses is not Ready. */
  connectionNotReady: 'ConnectionNotReady',
  /** A Secret or ConfigMap that the spec names does not exist, or lacks the key. */
  sourceNotFound: 'SourceNotFound',
  /** The text from a Secret or ConfigMap is not what the field takes. */
  sourceInvalid: 'SourceInvalid',
  /** The remote resource cannot be deleted yet; the message says what still refers to it. */
  deletionBlocked: 'DeletionBlocked',
  /** CertificateReady: in use. */
  issued: 'Issued',
  /** CertificateReady: the certificate is for other names. Also Ready and Synced, if the spec asks for such a one. */
  nameMismatch: 'NameMismatch',
  /** CertificateReady: the validity of the certificate begins later. */
  notYetValid: 'NotYetValid',
  /**
   * Ready: the operator has not seen the object yet. CertificateReady: requested but not issued yet; the job may not have
   * started.
   */
  pending: 'Pending',
  /** CertificateReady: the domain asks for none. */
  notRequested: 'NotRequested',
  /** DNSConfigured: a domain below the service's own needs no records. */
  notNeeded: 'NotNeeded',
  /** DNSConfigured: the service has found the records. */
  checked: 'Checked',
  /** DNSConfigured: the service has not looked for the records. CertificateReady: the certificate cannot be read. */
  notChecked: 'NotChecked',
  /** DNSConfigured and CertificateReady: the service has not found the records. */
  dnsError: 'DNSError',
  /** Delivering: events are sent. */
  active: 'Active',
  /** Delivering: the last delivery failed; it is tried again. */
  failing: 'Failing',
} as const;

/** The types of `Finding` and `Failure` let a condition have no other. */
export type Reason = (typeof REASON)[keyof typeof REASON];

/** Reasons of Kubernetes Events. A failure shown in the conditions is also an Event, with the same reason. */
export const EVENT_REASON = {
  created: 'Created',
  adopted: 'Adopted',
  adoptionIgnored: 'AdoptionIgnored',
  takenOver: 'TakenOver',
  updated: 'Updated',
  deleted: 'Deleted',
  retained: 'Retained',
  driftCorrected: 'DriftCorrected',
  recreated: 'ExternalResourceGone',
  replaced: 'Replaced',
  identityRestored: 'IdentityRestored',
  tokenReissued: 'TokenReissued',
  tokenRotated: 'TokenRotated',
  retired: 'OldCredentialRevoked',
  supersededDeleted: 'OldResourceDeleted',
  certificateIssued: 'CertificateIssued',
  certificateRenewed: 'CertificateRenewed',
  certificateFailed: 'CertificateFailed',
} as const;

export type EventReason = Reason | (typeof EVENT_REASON)[keyof typeof EVENT_REASON];
