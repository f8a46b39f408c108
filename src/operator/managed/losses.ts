/**
 * How often what an object hands out was lost again soon after it was issued. Whatever does that may do so at every change of
 * the Secret: without a pause, one token after the other would be issued. No I/O.
 */

const FIRST_MS = 1_000;
const LONGEST_MS = 10 * 60_000;
/** After this long without a loss, the next one is the first. */
const FORGOTTEN_MS = 2 * LONGEST_MS;

export class Losses {
  /** By the UID of the object; the oldest first. */
  readonly #latest = new Map<string, { times: number; at: number }>();

  /** What was lost is issued anew. */
  reissued(uid: string, now: Date): void {
    const at = now.getTime();
    const times = (this.#latest.get(uid)?.times ?? 0) + 1;
    this.#latest.delete(uid);
    this.#latest.set(uid, { times, at });
    this.#forgetOld(at);
  }

  /** When another one may be issued; undefined if now. */
  pauseUntil(uid: string, now: Date): Date | undefined {
    this.#forgetOld(now.getTime());
    const latest = this.#latest.get(uid);
    if (!latest) return undefined;
    const until = latest.at + Math.min(LONGEST_MS, FIRST_MS * 2 ** (latest.times - 1));
    return until > now.getTime() ? new Date(until) : undefined;
  }

  #forgetOld(now: number): void {
    for (const [uid, { at }] of this.#latest) {
      if (now - at < FORGOTTEN_MS) return;
      this.#latest.delete(uid);
    }
  }
}
