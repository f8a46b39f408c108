/** For each operation a request that succeeds, taken from the rows: what other suites then vary. */
import type { Contract, Documented } from './coverage.ts';
import type { Row, Section } from './row.ts';

/** The first row in which an admin asks for the operation alone and gets what they want. Throws when there is none. */
export function validRequest(operation: Documented, contract: Contract, sections: readonly Section[]): Row {
  const rows = sections.flatMap((section) => section.rows);
  const found = rows.find(
    ({ ask, answer }) =>
      answer.status < 300 &&
      (ask.as ?? 'admin') === 'admin' &&
      ask.headers === undefined &&
      contract.operationOf(ask) === operation,
  );
  if (!found) throw new Error(`no row has ${operation.name} succeed`);
  return found;
}
