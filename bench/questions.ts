/** The server side of processes.ts: reports the address, then answers questions about the process; exits on SIGTERM. */

/** The heap in bytes after a full collection, and what keeps the process busy. */
function memory() {
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, heapUsed, external, handles: process.getActiveResourcesInfo().length };
}

function cpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

export function answerQuestions(address: string, stop: () => Promise<void>): void {
  process.send?.(address);
  process.on('message', (question) => process.send?.(question === 'memory' ? memory() : cpu()));
  process.once('SIGTERM', async () => {
    await stop();
    process.disconnect();
  });
  // The parent is gone, perhaps without sending SIGTERM.
  process.once('disconnect', () => process.exit());
}
