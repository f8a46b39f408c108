/** When a row begins: `{now.minute}` and so on, which are the first characters of RFC 3339. */
const MINUTE_MS = 60_000;

/** An answer of this very moment begins with `minute`, or with `next_minute` where the clock has moved on. */
export function times(now = new Date()) {
  const next = new Date(now.getTime() + MINUTE_MS);
  return {
    minute: minuteOf(now),
    next_minute: minuteOf(next),
    year_later: minuteOf(yearAfter(now)),
    year_later_next_minute: minuteOf(yearAfter(next)),
  };
}

const minuteOf = (time: Date) => time.toISOString().slice(0, '2026-11-21T10:00'.length);

function yearAfter(time: Date): Date {
  const later = new Date(time);
  later.setUTCFullYear(later.getUTCFullYear() + 1);
  return later;
}
