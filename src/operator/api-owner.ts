/**
 * Who owns the operator's API key. Idempotency keys and scopes belong to that owner: an operator that restarted with the
 * key of another owner would not find the creates under way, and would repeat them. So the owner is remembered in the
 * Lease, and the operator sends nothing to the API until it knows that the owner is the same. It asks again when another
 * installation answers, since the same key can have another owner there.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Gauge } from 'prom-client';
import { ApiError, type Client, isNotFound } from '../client/client.ts';
import { jittered } from '../retry/backoff.ts';
import { REASON } from './contract/reasons.ts';
import { KubeError } from './kube/kube-error.ts';
import type { LeaseAnnotation } from './kube/lease-annotation.ts';
import { leaseProblem } from './kube/lease-problem.ts';
import { Blocked } from './managed/declaration/external.ts';

export interface ApiOwnerOptions {
  /** A client whose calls do not wait for this check. */
  client: Pick<Client, 'whoami'>;
  memory: LeaseAnnotation;
  /** The owner that may replace the remembered one. */
  accepted: string | undefined;
  /** Whether to work even without permission to write the Lease. */
  mayForget: boolean;
  /** Milliseconds between checks, with jitter, while the process may not work. */
  recheckMs: number;
  refused: Gauge;
  log: Logger;
}

type Owner = Awaited<ReturnType<Client['whoami']>>['owner'];

/** The API key belongs to an owner other than the remembered one. */
export class OtherOwner extends Blocked {}

export class ApiOwner {
  readonly #options: ApiOwnerOptions;
  readonly #stop = new AbortController();
  #verified: Promise<void> | undefined;
  /** What the API said. A key keeps its owner, so it is asked again only when there is doubt, or the owner is wrong. */
  #owner: Owner | undefined;
  #remembered: string | undefined;
  /** The one that answered when the owner was last asked for. */
  #installation: string | undefined;
  /** The one that answered when the owner was last the right one. */
  #trusted: string | undefined;
  #trouble: Trouble | undefined;
  #isChecked = false;
  readonly #warned = new Set<string>();

  constructor(options: ApiOwnerOptions) {
    this.#options = options;
  }

  /**
   * What is wrong with the API key, if a person must fix it. It counts as wrong until the first check, so that a rolling
   * update does not end the replica that works.
   */
  get problem(): string | undefined {
    if (!this.#isChecked) return 'not known yet whose API key this is';
    return this.#trouble?.isFinal ? this.#trouble.message : undefined;
  }

  /** The annotation that the Lease must carry from now on. */
  get annotations(): Readonly<Record<string, string>> {
    return this.#remembered === undefined ? {} : { [this.#options.memory.name]: this.#remembered };
  }

  /**
   * Waits while the key belongs to an owner other than the remembered one; false if stopped first. It does not wait while
   * the API is in trouble: the leader shows that on the objects.
   */
  async untilUsable(): Promise<boolean> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#check();
        return true;
      } catch (error) {
        if (!(error instanceof OtherOwner)) return true;
        await this.#pause();
      }
    }
    return false;
  }

  /**
   * Waits while the owner cannot be remembered until a person acts; false if the owner has changed, or if stopped first.
   * An API that does not answer yet is asked again later. Only the active operator may call it.
   */
  async untilRemembered(): Promise<boolean> {
    while (!this.#stop.signal.aborted) {
      const refused = await this.verify().catch((error: unknown) => error);
      if (refused instanceof OtherOwner) return false;
      if (!(refused instanceof Blocked)) return !this.#stop.signal.aborted;
      await this.#pause();
    }
    return false;
  }

  /**
   * Resolves once the owner is known to be the right one, and is remembered. Only the active operator may call it.
   * @throws OtherOwner; Blocked if the owner cannot be remembered; ApiError, ApiUnreachableError or KubeError if it is not known yet
   */
  readonly verify = (): Promise<void> => {
    this.#verified ??= this.#check(true).catch((error: unknown) => {
      this.#verified = undefined;
      throw error;
    });
    return this.#verified;
  };

  /** The key was refused. When it is accepted again, the API may be another one, or the key may have another owner. */
  readonly doubt = (): void => {
    this.#verified = undefined;
    this.#owner = undefined;
  };

  /** Notes the installation that says who the owner is. */
  readonly note = (installation: string): void => {
    this.#installation = installation;
  };

  /** @throws if another installation answers: the resources that the operator created do not exist there */
  readonly recognize = (installation: string): void => {
    this.#installation ??= installation;
    if (installation === this.#installation) return;
    this.doubt();
    throw new Error(`another installation of the management API answers (${installation})`);
  };

  /** Checks again periodically while there is trouble that a person must fix; until stopped. */
  async recheck(): Promise<void> {
    for (;;) {
      await this.#pause();
      if (this.#stop.signal.aborted) return;
      if (this.#trouble?.isFinal) await this.#check().catch(() => undefined);
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  async #check(isActive = false): Promise<void> {
    try {
      const owner = await this.#whoami();
      if (owner) await this.#compare(owner, isActive);
      this.#trusted = this.#installation;
      this.#report(undefined);
    } catch (error) {
      if (error instanceof OtherOwner) this.#owner = undefined;
      this.#report(error);
      throw error;
    }
  }

  /** Undefined if the API does not say. */
  async #whoami(): Promise<Owner | undefined> {
    try {
      this.#owner ??= (await this.#options.client.whoami()).owner;
      return this.#owner;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#warnOnce(
        'the management API is too old to say whose key this is (GET /whoami): a change of its owner goes unnoticed',
      );
      return undefined;
    }
  }

  async #compare(owner: Owner, isActive: boolean): Promise<void> {
    const { memory, accepted, mayForget, log } = this.#options;
    try {
      const remembered = await memory.read();
      const isKnown = remembered === owner.id;
      if (remembered !== undefined && !isKnown && accepted !== owner.id) {
        throw new OtherOwner(REASON.accessDenied, this.#refusal(remembered, owner));
      }
      if (!isActive) return;
      if (!isKnown) {
        await memory.write(owner.id);
        log.info({ owner: owner.id, before: remembered }, 'working in the name of a new owner');
      }
      this.#remembered = owner.id;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.isNotFound)
        throw new Blocked(REASON.kubernetesError, leaseProblem(error, memory.namespace) ?? error.message);
      if (!mayForget || !error.isForbidden) throw error;
      this.#warnOnce(`cannot remember whose API key this is: ${error.message}; a change of its owner goes unnoticed`);
    }
  }

  #refusal(remembered: string, owner: Owner): string {
    const hasMoved = this.#trusted !== undefined && this.#trusted !== this.#installation;
    return hasMoved
      ? refusalElsewhere(remembered, owner, this.#installation)
      : refusal(remembered, owner, this.#options.accepted);
  }

  /** One line for each change, however often it is checked. */
  #report(error: unknown): void {
    const { refused, log } = this.#options;
    const before = this.#trouble;
    this.#isChecked = true;
    this.#trouble = troubleOf(error);
    refused.set(error instanceof OtherOwner ? 1 : 0);
    if (this.#trouble?.message === before?.message) return;
    if (this.#trouble === undefined) log.info('the API key is accepted');
    else if (this.#trouble.isFinal) log.error(this.#trouble.message);
    else log.warn({ err: error }, this.#trouble.message);
  }

  async #pause(): Promise<void> {
    await delay(jittered(this.#options.recheckMs, 0.2), undefined, { signal: this.#stop.signal }).catch(() => {});
  }

  #warnOnce(message: string): void {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    this.#options.log.warn(message);
  }
}

interface Trouble {
  message: string;
  /** Whether a person must fix it. */
  isFinal: boolean;
}

function troubleOf(error: unknown): Trouble | undefined {
  if (error === undefined) return undefined;
  if (error instanceof Blocked) return { message: error.message, isFinal: true };
  if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
    const message = `the management API refuses the operator's API key (TUNNEL_API_KEY): ${error.message}`;
    return { message, isFinal: true };
  }
  return { message: 'cannot tell yet whose API key this is; until then, nothing is sent to the API', isFinal: false };
}

/** Why the key must not be used, and what to do about it. */
export function refusal(remembered: string, owner: Named, accepted: string | undefined): string {
  return [
    `the API key belongs to ${named(owner)}, but what this operator has begun belongs to ${remembered} and would be created a second time`,
    `Nothing is reconciled. If TUNNEL_API_URL leads to another installation or database than before, correct that. Otherwise use a key of ${remembered}; or finish by hand what is under way, and start once with --accept-new-owner ${owner.id}`,
    ...(accepted === undefined ? [] : [`It was started with --accept-new-owner ${accepted}`]),
    'See docs/operator/api-key.md',
  ].join('. ');
}

/** The same once another installation answers: accepting its owner would create everything there. */
function refusalElsewhere(remembered: string, owner: Named, installation: string | undefined): string {
  return [
    `another installation of the management API answers at TUNNEL_API_URL (${installation}), where the API key belongs to ${named(owner)}; what this operator has begun belongs to ${remembered}`,
    'Nothing is reconciled. Correct TUNNEL_API_URL, or the database behind it',
    'See docs/operator/api-key.md',
  ].join('. ');
}

type Named = Pick<Owner, 'id' | 'name'>;

const named = ({ id, name }: Named) => (name ? `${id} (${name})` : id);
