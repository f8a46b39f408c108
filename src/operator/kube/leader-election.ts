/**
 * Leader election on a Lease, by the rules of client-go. The holder renews every `retryMs`. Others take over when they
 * have not seen a renewal for `leaseMs` by their own clock, so that clocks need not agree. A holder that fails to renew
 * for `renewDeadlineMs` gives up before anyone else can take over.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { jittered } from '../../retry/backoff.ts';
import { FailureLog } from './failure-log.ts';
import type { KubeApi, ResourceType } from './kube-api.ts';
import { KubeError } from './kube-error.ts';
import type { KubeObject } from './kube-object.ts';
import { handedOver, holding, type LeaseSpec, mayTake, readLease } from './lease.ts';
import { leaseProblem } from './lease-problem.ts';

export interface LeaseTimes {
  leaseMs: number;
  renewDeadlineMs: number;
  retryMs: number;
}

/** In the ratio of Kubernetes' own components: for a Lease of 15 s, 10 s and 2 s. */
export const leaseTimes = (leaseMs: number): LeaseTimes => ({
  leaseMs,
  renewDeadlineMs: (leaseMs * 2) / 3,
  retryMs: leaseMs / 7.5,
});

export interface LeaderElectionOptions extends LeaseTimes {
  namespace: string;
  name: string;
  /** Unique to this process. */
  identity: string;
  /** Annotations to write with the Lease, so that a deleted Lease comes back with them. */
  annotations: () => Readonly<Record<string, string>>;
  log: Logger;
}

export const LEASES: ResourceType = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };

/** How long a release waits for a pending acquire. If the answer comes later, the Lease just expires. */
const LONGEST_ACQUIRING_MS = 2_000;

/** The result of one attempt to take or renew the Lease. */
type Attempt = 'held' | 'held by another' | 'failed';

export class LeaderElection {
  readonly #api: KubeApi;
  readonly #options: LeaderElectionOptions;
  readonly #failures: FailureLog;
  readonly #stop = new AbortController();
  /** The last seen version of the lease, and when it was first seen by the local clock. */
  #seen: { version: string; at: number } | undefined;
  /** The lease as this process wrote it last. */
  #written: KubeObject | undefined;
  #acquiring: Promise<boolean> | undefined;
  #renewing: Promise<void> | undefined;
  #releasing: Promise<void> | undefined;
  #leading = false;
  #problem: string | undefined;

  /** @param api a dedicated client, so that a flood of other requests cannot delay a renewal */
  constructor(api: KubeApi, options: LeaderElectionOptions) {
    this.#api = api;
    this.#options = options;
    this.#failures = new FailureLog(options.log);
  }

  get leading(): boolean {
    return this.#leading;
  }

  /** Why it cannot lead until a person acts. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Resolves true once this process leads, false if stopped first. Calls `onLost` once if leadership is lost. */
  acquire(onLost: () => void): Promise<boolean> {
    this.#acquiring = this.#acquire(onLost);
    return this.#acquiring;
  }

  /** Stops renewing and releases the lease, so that the next leader need not wait for it to expire. */
  release(): Promise<void> {
    this.#releasing ??= this.#release();
    return this.#releasing;
  }

  async #acquire(onLost: () => void): Promise<boolean> {
    const { log, identity, retryMs } = this.#options;
    while (!this.#stop.signal.aborted) {
      const begun = performance.now();
      if ((await this.#tryOnce()) === 'held') {
        this.#leading = true;
        log.info({ identity }, 'became the leader');
        this.#renewing = this.#renew(onLost, begun);
        return true;
      }
      await this.#pause(jittered(retryMs, 0.2));
    }
    return false;
  }

  async #release(): Promise<void> {
    this.#stop.abort();
    await Promise.race([this.#acquiring, delay(LONGEST_ACQUIRING_MS, undefined, { ref: false })]);
    await this.#renewing;
    if (!this.#leading) return;
    this.#leading = false;
    const lease = await this.#find().catch(() => undefined);
    if (!lease || readLease(lease).holderIdentity !== this.#options.identity) return;
    await this.#write(lease, handedOver(readLease(lease))).catch((err) =>
      this.#options.log.warn({ err }, 'could not release the Lease'),
    );
  }

  /** @param acquiredAt when the request that acquired the Lease was sent */
  async #renew(onLost: () => void, acquiredAt: number): Promise<void> {
    const { retryMs, renewDeadlineMs, log } = this.#options;
    let renewedAt = acquiredAt;
    while (!this.#stop.signal.aborted) {
      await this.#pause(retryMs);
      if (this.#stop.signal.aborted) return;
      // A renewal that hangs must not outlast the deadline.
      const left = renewDeadlineMs - (performance.now() - renewedAt);
      const begun = performance.now();
      const attempt = await Promise.race([this.#tryOnce(), delay(Math.max(0, left), undefined, { ref: false })]);
      if (attempt === 'held') renewedAt = begun;
      const belongsToAnother = attempt === 'held by another';
      if (!belongsToAnother && performance.now() - renewedAt < renewDeadlineMs) continue;
      this.#leading = false;
      log.error(
        `lost leadership: ${belongsToAnother ? 'another process holds the Lease' : 'could not renew the Lease in time'}`,
      );
      onLost();
      return;
    }
  }

  async #tryOnce(): Promise<Attempt> {
    try {
      const attempt = await this.#takeOrRenew();
      this.#failures.succeeded();
      this.#problem = undefined;
      return attempt;
    } catch (error) {
      const raced = error instanceof KubeError && error.isConflict;
      this.#problem = leaseProblem(error, this.#options.namespace);
      if (!raced) this.#failures.warn(error, 'leader election: could not read or write the Lease');
      return 'failed';
    }
  }

  async #takeOrRenew(): Promise<Attempt> {
    if (this.#written && (await this.#renewUnread(this.#written))) return 'held';
    const lease = await this.#find();
    if (!lease) {
      await this.#create();
      return 'held';
    }
    const spec = readLease(lease);
    if (!mayTake(spec, this.#options, this.#unchangedFor(lease))) return 'held by another';
    await this.#write(lease, this.#holding(spec));
    return 'held';
  }

  /** Renews without reading first, as long as no one else has written. This halves the requests of an idle operator. */
  async #renewUnread(written: KubeObject): Promise<boolean> {
    try {
      await this.#write(written, this.#holding(readLease(written)));
      return true;
    } catch (error) {
      if (!(error instanceof KubeError && (error.isConflict || error.isNotFound))) throw error;
      this.#written = undefined;
      return false;
    }
  }

  /** How long this version of the lease has been known by the local clock, in milliseconds. */
  #unchangedFor(lease: KubeObject): number {
    const version = lease.metadata.resourceVersion;
    const now = performance.now();
    if (this.#seen?.version !== version) this.#seen = { version, at: now };
    return now - this.#seen.at;
  }

  #holding(previous?: LeaseSpec): LeaseSpec {
    const { identity, leaseMs } = this.#options;
    return holding(previous, identity, leaseMs, new Date());
  }

  #find(): Promise<KubeObject | undefined> {
    return this.#api.find(LEASES, this.#options.name, this.#options.namespace);
  }

  async #create(): Promise<void> {
    const { namespace, name, annotations } = this.#options;
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace, annotations: annotations() },
      spec: this.#holding(),
    };
    this.#written = await this.#api.create(LEASES, body, namespace);
  }

  async #write(lease: KubeObject, spec: LeaseSpec): Promise<void> {
    const { namespace, name, annotations } = this.#options;
    const metadata = { ...lease.metadata, annotations: { ...lease.metadata.annotations, ...annotations() } };
    this.#written = await this.#api.replace(LEASES, name, { ...lease, metadata, spec }, namespace);
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stop.signal }).catch(() => {});
  }
}
