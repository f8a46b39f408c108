/** The clock of the API, as its responses show it. Times that the API sets, such as `created_at`, are by this clock. */
export class ApiClock {
  /** How far it is ahead of the clock of this process; 0 until a response shows otherwise. */
  #aheadMs = 0;

  now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  /**
   * Corrects the estimate as little as the response demands: it was sent between its request and now.
   * @param date the Date header, which is cut to the second
   * @param requestedAt when the request was sent, by `Date.now()`
   */
  observe(date: Date, requestedAt: number): void {
    const least = date.getTime() - Date.now();
    const most = date.getTime() + 1_000 - requestedAt;
    this.#aheadMs = Math.min(Math.max(this.#aheadMs, least), most);
  }
}
