/** What every crash test leaves behind: nothing, which is checked like everything else. Only for test files. */
import { untilSettled } from './inspect.ts';
import type { Stage } from './stage.ts';

/** Ends all faults and has everything deleted; what is left even so is removed by force. @throws if it was not all deleted */
export async function cleanUp(stage: Stage): Promise<void> {
  for (const proxy of stage.proxies) proxy.intercept();
  try {
    await stage.removeAll();
    await untilSettled(stage);
  } finally {
    await stage.sweep();
  }
}
