/** Every name that the operator puts on Kubernetes objects, in one place. */

export const GROUP = 'tunnel-operator.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;
export const CATEGORY = 'tunnels';

/** Holds an object until its remote resource is gone. */
export const FINALIZER = `${GROUP}/remote-resource`;

export const ANNOTATION = {
  /** Set by us: the id of the remote resource. Unlike status it survives a backup and restore. */
  externalId: `${GROUP}/external-id`,
  /** Set by us: how many remote resources were begun for this object; part of the idempotency key. */
  createGeneration: `${GROUP}/create-generation`,
  /** Set by us: superseded remote resources that are still to be deleted. */
  retiring: `${GROUP}/retiring`,
  /** Set by us: the rotate-requested-at that was acted on. */
  rotateHandledAt: `${GROUP}/rotate-handled-at`,
  /** Set by users: `true` stops all work on the object. */
  paused: `${GROUP}/paused`,
  /** Set by users: the id of an existing remote resource to take over. */
  adopt: `${GROUP}/adopt`,
  /** Set by users: any new value has the object reconciled; echoed in status.lastHandledReconcileAt. */
  reconcileRequestedAt: `${GROUP}/reconcile-requested-at`,
  /** Set by users: any new value has the token rotated. */
  rotateRequestedAt: `${GROUP}/rotate-requested-at`,
  /** Set by us on Secrets: SHA-256 of the token, to notice a hand edit without knowing the token. */
  tokenSha256: `${GROUP}/token-sha256`,
  /** Set by us on Secrets: which labels and annotations came from the template, to remove those that left it. */
  template: `${GROUP}/template`,
} as const;

/** On every Secret of ours; what the Secret watch selects. */
export const MANAGED_BY = { label: 'app.kubernetes.io/managed-by', value: 'tunnel-operator' } as const;

export const SECRET_TYPE = `${GROUP}/authtoken`;
