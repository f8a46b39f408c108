export function afterFailure(
  _state: { attempts: number; firstAttemptAt: Date },
  _answer: { retryAfterMs?: number; gone?: boolean },
  now: Date,
  _random: () => number,
): { retryAt: Date } | { givenUp: true } {
  return { retryAt: new Date(now.getTime() + 5000) };
}
