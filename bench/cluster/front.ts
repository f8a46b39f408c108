/** Several API processes behind one address: Node's cluster module hands each connection to the next of them. */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { z } from 'zod';

cluster.setupPrimary({ exec: resolve(import.meta.dirname, '../api-process.ts') });

const workers: Worker[] = [];

/** The next message of a worker. */
async function answerOf(worker: Worker): Promise<unknown> {
  const [answer] = await once(worker, 'message');
  return answer;
}

async function cpu(): Promise<number> {
  const { user, system } = process.cpuUsage();
  const theirs = workers.map(async (worker) => {
    worker.send('cpu');
    return z.number().parse(await answerOf(worker));
  });
  return (await Promise.all(theirs)).reduce((sum, one) => sum + one, user + system);
}

async function stop(): Promise<void> {
  const ended = workers.map((worker) => once(worker, 'exit'));
  for (const worker of workers) worker.process.kill('SIGTERM');
  await Promise.all(ended);
}

const addresses = new Set<unknown>();
for (let n = 0; n < Number(process.env.BENCH_PROCESSES); n++) {
  const worker = cluster.fork();
  workers.push(worker);
  addresses.add(await answerOf(worker));
}
const [address, ...others] = addresses;
if (others.length > 0) throw new Error(`more than one address: ${[address, ...others].join(', ')}`);

process.on('message', async () => process.send?.(await cpu()));
process.once('SIGTERM', async () => {
  await stop();
  process.disconnect();
});
// The parent is gone. The workers exit when they notice that this process has exited.
process.once('disconnect', () => process.exit());
process.send?.(address);
