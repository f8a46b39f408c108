/** Turns: of those who share a name, only so many do something at once; the others wait in line. */
export interface Turns {
  /** Waits for a turn; returns the function that ends it. */
  take(name: string): Promise<() => void>;
}

interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

export function createTurns(atOnce: number): Turns {
  /** Of names that have somebody running. */
  const lines = new Map<string, Line>();

  function end(name: string, line: Line): void {
    const next = line.waiting.shift();
    if (next) next();
    else line.running--;
    if (line.running === 0) lines.delete(name);
  }

  return {
    async take(name) {
      const line = lines.get(name) ?? { running: 0, waiting: [] };
      lines.set(name, line);
      if (line.running < atOnce) line.running++;
      else await new Promise<void>((resolve) => line.waiting.push(resolve));
      return () => end(name, line);
    },
  };
}
