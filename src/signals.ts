/** SIGINT and SIGTERM, of which process 1 of a container notices only what it listens to. */

/** Resolves with the first signal to stop; the second one ends the process at once. */
export function untilSignalled(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isFirst = true;
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => {
        if (!isFirst) process.exit(1);
        isFirst = false;
        resolve(signal);
      });
  });
}

/** For what has nothing to finish: the exit code is 128 and the number of the signal. */
export function endWhenSignalled(): void {
  const codes = { SIGINT: 130, SIGTERM: 143 } as const;
  for (const [signal, code] of Object.entries(codes)) process.on(signal, () => process.exit(code));
}
