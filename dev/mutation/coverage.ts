/** The parts of the source that a test file has executed. */
import { relative } from 'node:path';
import { z } from 'zod';

/** A null column is the end of the line. */
const Position = z.object({ line: z.number(), column: z.number().nullable() });
const Range = z.object({ start: Position, end: Position });
type Position = z.output<typeof Position>;

/** The parts not executed, for each file that was loaded. Lines count from 1, columns from 0. */
export const Coverage = z.record(z.string(), z.array(Range));
export type Coverage = z.output<typeof Coverage>;

/** Istanbul's coverage, as Vitest reports it. */
const IstanbulFile = z.object({
  path: z.string(),
  statementMap: z.record(z.string(), Range),
  s: z.record(z.string(), z.number()),
  fnMap: z.record(z.string(), z.object({ loc: Range })),
  f: z.record(z.string(), z.number()),
});
const IstanbulMap = z.record(z.string(), IstanbulFile);

/** @param coverageMap of Istanbul; the paths of the result are relative to `root`. */
export function coverageFrom(coverageMap: unknown, root: string): Coverage {
  // A map and its files are instances of classes that know how to become JSON.
  const files = IstanbulMap.parse(JSON.parse(JSON.stringify(coverageMap ?? {})));
  return Object.fromEntries(Object.values(files).map((file) => [relative(root, file.path), notExecuted(file)]));
}

/** Functions and statements only: the source map does not tell where parts of an expression end. */
function notExecuted({ statementMap, s, fnMap, f }: z.output<typeof IstanbulFile>) {
  return [
    ...Object.entries(statementMap).flatMap(([id, range]) => (s[id] === 0 ? [range] : [])),
    ...Object.entries(fnMap).flatMap(([id, { loc }]) => (f[id] === 0 ? [loc] : [])),
  ];
}

/** Whether a run with this coverage has executed the code at this offset of the file; true if unknown. */
export function isExecuted(coverage: Coverage, file: string, source: string, offset: number): boolean {
  const lines = source.slice(0, offset).split('\n');
  const at = { line: lines.length, column: lines.at(-1)?.length ?? 0 };
  return !(coverage[file] ?? []).some(({ start, end }) => !isBefore(at, start) && isBefore(at, end));
}

function isBefore(a: Position, b: Position): boolean {
  const column = (position: Position) => position.column ?? Number.POSITIVE_INFINITY;
  return a.line < b.line || (a.line === b.line && column(a) < column(b));
}
