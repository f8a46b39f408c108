/** Every reason that a condition or an Event carries. Scripts match on these: they are part of the interface. */

export const CONDITION = { ready: 'Ready', synced: 'Synced' } as const;

export const REASON = {
  /** Ready: the remote resource is as declared (and its token is in the Secret). */
  available: 'Available',
  /** Synced: the last reconcile found or made everything equal. */
  upToDate: 'UpToDate',
  /** Synced: the last difference was a remote change, which was undone. */
  driftCorrected: 'DriftCorrected',
  /** Synced: managementPolicy Observe; nothing is written. */
  observed: 'Observed',
  /** Synced: the annotation `paused` stops all work. */
  paused: 'Paused',
  /** The API refuses what is declared; the message names the fields. */
  rejected: 'Rejected',
  /** The API key of the operator is not accepted or not allowed to do this. */
  accessDenied: 'AccessDenied',
  /** The API cannot be reached or is in trouble; retried. */
  apiUnavailable: 'ApiUnavailable',
  /** The Kubernetes API refuses a write of the operator. */
  kubernetesError: 'KubernetesError',
  /** Something unforeseen; the log has the details. */
  internalError: 'InternalError',
  /** An older object claims the same remote resource. */
  managementConflict: 'ManagementConflict',
  /** The resource named by `adopt` does not exist. */
  externalNotFound: 'ExternalNotFound',
  /** managementPolicy Observe without an id to observe. */
  nothingToObserve: 'NothingToObserve',
  /** The Secret's name is taken by a Secret that is not ours. */
  secretConflict: 'SecretConflict',
  /** The token of an adopted credential is not to be had; rotate to get one. */
  tokenUnavailable: 'TokenUnavailable',
  /** The remote resource cannot be deleted yet; the message says for whom it waits. */
  deletionBlocked: 'DeletionBlocked',
} as const;

/** Of Kubernetes Events. A failure that shows in the conditions is one too, with the reason of the condition. */
export const EVENT_REASON = {
  created: 'Created',
  adopted: 'Adopted',
  updated: 'Updated',
  deleted: 'Deleted',
  retained: 'Retained',
  driftCorrected: 'DriftCorrected',
  recreated: 'ExternalResourceGone',
  tokenReissued: 'TokenReissued',
  tokenRotated: 'TokenRotated',
  retired: 'OldCredentialRevoked',
} as const;
