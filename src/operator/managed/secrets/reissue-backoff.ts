/**
 * Pauses before a lost token is reissued. Otherwise, a GitOps tool that keeps overwriting the Secret would have a token
 * issued and revoked at every change. No I/O.
 */

const FIRST_MS = 1_000;
const LONGEST_MS = 10 * 60_000;
/** After this long without a loss, the pauses start over. */
const FORGOTTEN_MS = 2 * LONGEST_MS;

export class ReissueBackoff {
  /** The last reissue for each object, by its UID. */
  readonly #last = new Map<string, { at: number; pauseMs: number }>();

  /** Records that a lost token was reissued. */
  reissued(uid: string, now: Date): void {
    const at = now.getTime();
    for (const [each, last] of this.#last) if (at - last.at >= FORGOTTEN_MS) this.#last.delete(each);
    const before = this.#last.get(uid);
    this.#last.set(uid, { at, pauseMs: before ? Math.min(LONGEST_MS, 2 * before.pauseMs) : FIRST_MS });
  }

  /** When the next token may be issued; undefined if that is now. */
  pauseUntil(uid: string, now: Date): Date | undefined {
    const last = this.#last.get(uid);
    const until = last ? last.at + last.pauseMs : 0;
    return until > now.getTime() ? new Date(until) : undefined;
  }
}
