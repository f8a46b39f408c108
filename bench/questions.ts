/** The other end of processes.ts: a server tells its address, then about itself, and ends on SIGTERM. */

/** What the heap holds, in bytes, after all garbage is gone; and what keeps the process busy. */
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
}
