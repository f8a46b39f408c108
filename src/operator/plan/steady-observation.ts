/** Retries reads that take several calls and may see a change in between; the operator would just reconcile again. */
import { REASON } from '../contract/reasons.ts';
import { Blocked, type External, type Remote, StaleObject } from '../managed/declaration/external.ts';
import type { ManagedSpec } from '../managed/declaration/spec.ts';

const MOST_ATTEMPTS = 5;

/** The same verbs; `observe` retries, and throws Blocked for a resource that keeps changing. */
export function observingAgain(external: External<ManagedSpec, Remote>): External<ManagedSpec, Remote> {
  return { ...external, observe: (id) => steadily(() => external.observe(id)) };
}

async function steadily<T>(read: () => Promise<T>, attempt = 1): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof StaleObject)) throw error;
    if (attempt < MOST_ATTEMPTS) return steadily(read, attempt + 1);
    throw new Blocked(REASON.rejected, `${error.message}, ${MOST_ATTEMPTS} times in a row: plan again`);
  }
}
