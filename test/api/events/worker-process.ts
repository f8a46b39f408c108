/** The worker as its users run it: a process of its own. Only for test files. */
import type { Child } from '../../../dev/processes/child-process.ts';
import { untilAnswering } from '../../../dev/processes/program.ts';
import { freePort } from '../../../src/postgres/ports.ts';
import { atEnd } from '../../end-of-file.ts';
import { type ProcessSettings, startOnDatabase } from '../faults/api-process.ts';

/** Returns when it is ready. It ends with the test file. */
export async function startWorkerProcess(settings: ProcessSettings): Promise<Child> {
  const port = await freePort();
  const child = startOnDatabase(['worker', '--metrics-host', '127.0.0.1', '--metrics-port', String(port)], settings);
  atEnd(() => child.stop());
  await untilAnswering(child, `http://127.0.0.1:${port}/readyz`);
  return child;
}
