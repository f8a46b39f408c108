/** The summary of a test run, as lines. */

export interface Summary {
  passed: number;
  failed: number;
  /** For each skipped test, the reason that it gives, or else its name. */
  skipped: readonly ({ reason: string } | { name: string })[];
}

/** How many names of tests that are skipped without a reason are shown. */
const NAMES = 5;

/** One line for each reason why tests were skipped, and one with the counts. */
export function summaryLines({ passed, failed, skipped }: Summary): string[] {
  const reasons = skipped.flatMap((test) => ('reason' in test ? [test.reason] : []));
  const names = skipped.flatMap((test) => ('name' in test ? [test.name] : []));
  const counted = [...Map.groupBy(reasons, (reason) => reason)].map(([reason, all]) => [all.length, reason] as const);
  const lines = counted.toSorted(([a], [b]) => b - a).map(([count, reason]) => `${count} skipped: ${reason}`);
  if (names.length > 0) {
    const more = names.length > NAMES ? ', …' : '';
    lines.push(`${names.length} skipped, no reason given: ${names.slice(0, NAMES).join(', ')}${more}`);
  }
  return [...lines, `${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`];
}
