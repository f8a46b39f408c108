/** Every name that the operator puts on Kubernetes objects, in one place. */

export const GROUP = 'tunnel-operator.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;
export const CATEGORY = 'tunnels';

/** The kinds of connections to the management API: of one namespace, and two of the namespaces that they select. */
export const CONNECTION_KIND = { own: 'APIConnection', shared: 'ClusterAPIConnection', account: 'Account' } as const;
/** The name of the APIConnection that a namespace's objects use unless they name another. */
export const DEFAULT_CONNECTION = 'default';

/** Holds a connection until no object uses it. */
export const CONNECTION_FINALIZER = `${GROUP}/connection-in-use`;

/** Holds an object until its remote resource is gone. */
export const FINALIZER = `${GROUP}/remote-resource`;

export const ANNOTATION = {
  /** Set by the operator: the id of the remote resource. Unlike status it survives a backup and restore. */
  externalId: `${GROUP}/external-id`,
  /** Set by the operator: how many creates were started for this object; their sequence number in its scope. */
  createGeneration: `${GROUP}/create-generation`,
  /** Set by the operator: the part of the idempotency key that tells this create from one that was begun before. */
  createKey: `${GROUP}/create-key`,
  /**
   * Set by the operator: the manager that the API has recorded for the resource. In a copy of the object, it names the
   * original.
   */
  manager: `${GROUP}/manager`,
  /** Set by the operator: through which connection the remote resource was created; absent if with the operator's own key. */
  connection: `${GROUP}/connection`,
  /** Set by the operator: superseded remote resources that are still to be deleted. */
  retiring: `${GROUP}/retiring`,
  /** Set by the operator: the value of rotate-requested-at that was last acted on. */
  rotateHandledAt: `${GROUP}/rotate-handled-at`,
  /** Set by the operator: the rotation of a one-time value that is under way, until the value is in its Secret. */
  rotation: `${GROUP}/rotation`,
  /** Set by users: any value but `false` stops all work on the object. */
  paused: `${GROUP}/paused`,
  /** Set by users: the id of an existing remote resource to take over. */
  adopt: `${GROUP}/adopt`,
  /** Set by users: the id of the manager from which to take the remote resource over; removed by the operator then. */
  takeOver: `${GROUP}/take-over`,
  /** Set by users: any new value triggers a reconcile; echoed in status.lastHandledReconcileAt. */
  reconcileRequestedAt: `${GROUP}/reconcile-requested-at`,
  /** Set by users: any new value triggers a rotation. */
  rotateRequestedAt: `${GROUP}/rotate-requested-at`,
  /** Set by the operator on Secrets: SHA-256 of the token, which reveals a manual edit but not the token. */
  tokenSha256: `${GROUP}/token-sha256`,
  /** Set by the operator on Secrets: when the API issued the value, for resources that can issue several. */
  issuedAt: `${GROUP}/issued-at`,
  /**
   * Set by the operator on Secrets: which labels and annotations came from the template, so that those dropped from it
   * can be removed.
   */
  template: `${GROUP}/template`,
  /** Set by the operator on its Lease: the user or bot in whose name it has created things. */
  apiOwner: `${GROUP}/api-owner`,
} as const;

/** The label on every Secret that the operator writes; the Secret watch selects by it. */
export const MANAGED_BY = { label: 'app.kubernetes.io/managed-by', value: 'tunnel-operator' } as const;

/** The types of the operator's Secrets, by what is in them. */
export const SECRET_TYPE = {
  authtoken: `${GROUP}/authtoken`,
  apiKey: `${GROUP}/api-key`,
  signingSecret: `${GROUP}/signing-secret`,
  sshCertificate: `${GROUP}/ssh-certificate`,
} as const;
