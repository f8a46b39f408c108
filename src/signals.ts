/** SIGINT and SIGTERM, of which process 1 of a container notices only what it listens to. */

/**
 * A signal to a group of processes comes twice where a parent forwards it: `npm start` under systemd, Ctrl-C in a
 * terminal.
 */
const FORWARDED_MS = 500;

/** Resolves with the first signal to stop; another one, half a second later or more, ends the process at once. */
export function untilSignalled(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: number | undefined;
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => {
        first ??= performance.now();
        if (performance.now() - first > FORWARDED_MS) process.exit(1);
        resolve(signal);
      });
  });
}

/** For what has nothing to finish: the exit code is 128 and the number of the signal. */
export function endWhenSignalled(): void {
  const codes = { SIGINT: 130, SIGTERM: 143 } as const;
  for (const [signal, code] of Object.entries(codes)) process.on(signal, () => process.exit(code));
}
