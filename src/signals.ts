/** SIGINT and SIGTERM: process 1 of a container ignores signals that it has no listener for. */

/**
 * A signal to a group of processes comes twice where a parent forwards it: `npm start` under systemd, Ctrl-C in a
 * terminal.
 */
const FORWARDED_MS = 500;

/** The exit code is 128 plus the number of the signal. */
const ENDINGS = { SIGINT: () => process.exit(130), SIGTERM: () => process.exit(143) } as const;

/**
 * Resolves with the first signal to stop; another one at least half a second later ends the process at once. Replaces
 * the listeners of `endWhenSignalled`.
 */
export function untilSignalled(): Promise<NodeJS.Signals> {
  const signalled = new Promise<NodeJS.Signals>((resolve) => {
    let first: number | undefined;
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => {
        first ??= performance.now();
        if (performance.now() - first > FORWARDED_MS) process.exit(1);
        resolve(signal);
      });
  });
  // Removed only after the new listeners are in place: a signal that arrives in between would be lost.
  for (const [signal, end] of Object.entries(ENDINGS)) process.off(signal, end);
  return signalled;
}

/** Ends the process on a signal, as long as there is nothing to finish. */
export function endWhenSignalled(): void {
  for (const [signal, end] of Object.entries(ENDINGS)) process.on(signal, end);
}
