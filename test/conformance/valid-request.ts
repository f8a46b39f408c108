/** Picks, for each operation, a row whose request succeeds. Other suites then vary that request. */

import type { Row, Section, Step } from '../../dev/conformance/row.ts';
import { RESOURCE_MANAGER_HEADER } from '../../src/resources/definition/manager.ts';
import type { Contract, Documented } from './coverage.ts';

/** The row of the operation with the fewest preparations, then the smallest body. Throws when there is none. */
export function simplest(operation: Documented, contract: Contract, sections: readonly Section[]): Row {
  return best(operation, contract, sections, (row) => -weight(row));
}

/** The row of the operation with the most in its body. Throws when there is none. */
export function richest(operation: Documented, contract: Contract, sections: readonly Section[]): Row {
  return best(operation, contract, sections, ({ ask }) => size(ask.body));
}

interface RequestWithId {
  row: Row;
  /** The requests of the row that come before, after those that prepare it. */
  before: readonly Step[];
  path: string;
  /** A placeholder. */
  id: string;
}

/** The simplest row with a request of an admin that gives the operation an id as this parameter. Throws when there is none. */
export function withId(
  operation: Documented,
  parameter: string,
  contract: Contract,
  sections: readonly Section[],
): RequestWithId {
  const rows = sections.flatMap((section) => section.rows).toSorted((a, b) => weight(a) - weight(b));
  for (const row of rows) {
    const steps = [row.ask, ...(row.later ?? []).map(([step]) => step)];
    for (const [at, step] of steps.entries()) {
      if ((step.as ?? 'admin') !== 'admin' || contract.operationOf(step) !== operation) continue;
      const [path = '', query] = step.path.split('?', 2);
      const id = new URLSearchParams(query).get(parameter) ?? '';
      if (/^\{[\w.]+\}$/.test(id)) return { row, before: steps.slice(0, at), path, id };
    }
  }
  throw new Error(`no row gives ${operation.name} an id as ${parameter}`);
}

function best(
  operation: Documented,
  contract: Contract,
  sections: readonly Section[],
  score: (row: Row) => number,
): Row {
  const rows = sections
    .flatMap((section) => section.rows)
    .filter(
      ({ ask, answer }) =>
        answer.status < 300 &&
        (ask.as ?? 'admin') === 'admin' &&
        Object.keys(ask.headers ?? {}).every((name) => name === RESOURCE_MANAGER_HEADER) &&
        typeof ask.body !== 'string' &&
        contract.operationOf(ask) === operation,
    );
  const [first] = rows.toSorted((a, b) => score(b) - score(a));
  if (!first) throw new Error(`no row has ${operation.name} succeed`);
  return first;
}

const weight = ({ given = {}, ask }: Row) => Object.keys(given).length * 1_000 + size(ask.body);

/** The number of members at all depths. */
function size(node: unknown): number {
  if (node === null || typeof node !== 'object') return 0;
  const members = Object.values(node);
  return members.length + members.reduce((sum: number, member) => sum + size(member), 0);
}
