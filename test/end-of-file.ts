/**
 * Steps that run at the end of a test file. Test files of a worker share modules (`isolate: false`), so a helper must
 * not register hooks when it is imported: it registers a step here whenever it starts something.
 */
type Step = () => Promise<unknown>;
const checks: Step[] = [];
const steps: Step[] = [];

/** Runs `step` at the end of the current test file, last registered first. */
export function atEnd(step: Step): void {
  steps.push(step);
}

/** Runs `check` before all steps, while what the tests have started still runs. */
export function checkAtEnd(check: Step): void {
  checks.push(check);
}

/** Runs all, even if one fails. @throws AggregateError of what failed */
export async function runSteps(): Promise<void> {
  const failures: unknown[] = [];
  for (const pending of [checks, steps])
    while (pending.length > 0)
      await pending
        .pop()?.()
        .catch((error) => failures.push(error));
  if (failures.length > 0) throw new AggregateError(failures, 'could not clean up after the test file');
}
