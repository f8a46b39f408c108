/**
 * Steps that run at the end of a test file. Test files of a worker share modules (`isolate: false`), so a helper must
 * not register hooks when it is imported: it registers a step here whenever it starts something.
 */
const steps: (() => Promise<unknown>)[] = [];

/** Runs `step` at the end of the current test file, last registered first. */
export function atEnd(step: () => Promise<unknown>): void {
  steps.push(step);
}

/** Runs all, even if one fails. @throws AggregateError of what failed */
export async function runSteps(): Promise<void> {
  const failures: unknown[] = [];
  while (steps.length > 0)
    await steps
      .pop()?.()
      .catch((error) => failures.push(error));
  if (failures.length > 0) throw new AggregateError(failures, 'could not clean up after the test file');
}
