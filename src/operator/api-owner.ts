/**
 * Whose API key the operator has. Idempotency keys and scopes belong to the owner of the key: an operator that came back
 * with another owner's would not find what was under way, and create it a second time. The owner is therefore remembered,
 * and nothing is sent to the API before it is known that it is still the same.
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
  /** Its calls must not wait for this check. */
  client: Pick<Client, 'whoami'>;
  memory: LeaseAnnotation;
  /** The owner that may take the place of the remembered one. */
  accepted: string | undefined;
  /** Whether it may work without the permission to remember. */
  mayForget: boolean;
  /** How long a process that may not work waits, more or less, until it looks whether it may by now; in milliseconds. */
  recheckMs: number;
  refused: Gauge;
  log: Logger;
}

type Owner = Awaited<ReturnType<Client['whoami']>>['owner'];

/** The API key belongs to another owner than the remembered one. */
export class OtherOwner extends Blocked {}

export class ApiOwner {
  readonly #options: ApiOwnerOptions;
  readonly #stop = new AbortController();
  #verified: Promise<void> | undefined;
  /** What the API said. A key keeps its owner, so it is asked again only when there is doubt. */
  #owner: Owner | undefined;
  #remembered: string | undefined;
  #trouble: Trouble | undefined;
  #isChecked = false;
  readonly #warned = new Set<string>();

  constructor(options: ApiOwnerOptions) {
    this.#options = options;
  }

  /**
   * What is wrong with the API key, if only people can help. Before the first look it counts as wrong: a rolling update
   * must not end the replica that works.
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
   * Waits while the key belongs to another owner than the remembered one; false if stopped first. Trouble with the API is
   * no reason to wait: whoever leads shows it on the objects.
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
   * Waits while the owner cannot be remembered until somebody acts; false if it has become another one, or stopped first.
   * What cannot be told yet is told later. Only the active operator may call it.
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
   * @throws OtherOwner; Blocked when the owner cannot be remembered; ApiError, ApiUnreachableError, KubeError when that cannot be told yet
   */
  readonly verify = (): Promise<void> => {
    this.#verified ??= this.#check(true).catch((error: unknown) => {
      this.#verified = undefined;
      throw error;
    });
    return this.#verified;
  };

  /** The key was refused: once it is accepted again, it may be at another API, or another owner's. */
  readonly doubt = (): void => {
    this.#verified = undefined;
    this.#owner = undefined;
  };

  /** While there is trouble that only people can help, looks every so often whether they have; until stopped. */
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
      this.#report(undefined);
    } catch (error) {
      this.#report(error);
      throw error;
    }
  }

  /** Undefined if the API does not tell. */
  async #whoami(): Promise<Owner | undefined> {
    try {
      this.#owner ??= (await this.#options.client.whoami()).owner;
      return this.#owner;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#warnOnce(
        'the management API is too old to say whose key this is (GET /whoami): an exchanged one is not noticed',
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
        throw new OtherOwner(REASON.accessDenied, refusal(remembered, owner, accepted));
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
      this.#warnOnce(`cannot remember whose API key this is: ${error.message}; an exchanged one is not noticed`);
    }
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
  /** Whether only people can help. */
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
export function refusal(
  remembered: string,
  { id, name }: Pick<Owner, 'id' | 'name'>,
  accepted: string | undefined,
): string {
  const named = name ? `${id} (${name})` : id;
  return [
    `the API key belongs to ${named}, but what this operator has begun belongs to ${remembered} and would be created a second time`,
    `Nothing is reconciled. Use a key of ${remembered}; or see to what is under way and start once with --accept-new-owner ${id}`,
    ...(accepted === undefined ? [] : [`It was started with --accept-new-owner ${accepted}`]),
    'See docs/operator/api-key.md',
  ].join('. ');
}
