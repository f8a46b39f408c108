/** Turns: of those who share a name, only so many do something at once; the others wait in line. */
import { rateLimited } from '../errors/errors.ts';

export interface Turns {
  /** Waits for a turn; returns the function that ends it. @throws RATE_LIMITED when too many wait already */
  take(name: string): Promise<() => void>;
}

interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

/**
 * Of one name. Within the usual rate limits nobody gets so far unless the database hangs; then the memory that those who
 * wait take has a bound.
 */
const MOST_WAITING = 1000;

export function createTurns(atOnce: number): Turns {
  /** Of names that have somebody running. */
  const lines = new Map<string, Line>();

  function end(name: string, line: Line): void {
    const next = line.waiting.shift();
    // In a turn of the event loop of its own: bodies that prove wrong at once would follow each other until the line is
    // empty, and nobody else's request would be read meanwhile.
    if (next) setImmediate(next);
    else line.running--;
    if (line.running === 0) lines.delete(name);
  }

  return {
    async take(name) {
      let line = lines.get(name);
      if (!line) {
        line = { running: 0, waiting: [] };
        lines.set(name, line);
      }
      const { waiting } = line;
      if (line.running < atOnce) line.running++;
      else if (waiting.length >= MOST_WAITING) throw rateLimited(1, 'Too many requests at once: wait for answers.');
      else await new Promise<void>((resolve) => waiting.push(resolve));
      return () => end(name, line);
    },
  };
}
