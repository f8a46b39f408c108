/** How much of each folder of `src` the tests execute, from Istanbul's `json-summary`. */
import { readFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { z } from 'zod';

const metric = z.object({ total: z.number(), covered: z.number() });
const metrics = z.object({ lines: metric, branches: metric });
type Metrics = z.output<typeof metrics>;

const NONE: Metrics = { lines: { total: 0, covered: 0 }, branches: { total: 0, covered: 0 } };

/** @param root the folder that `src` is in */
export async function coverageLines(file: string, root: string): Promise<string[]> {
  const files = z.record(z.string(), metrics).parse(JSON.parse(await readFile(file, 'utf8')));
  const { total = NONE, ...each } = files;
  return coverageTable(new Map(Object.entries(each).map(([path, found]) => [relative(root, path), found])), total);
}

/** @param files by their paths from the root, with `/` between folders */
export function coverageTable(files: ReadonlyMap<string, Metrics>, total: Metrics): string[] {
  const folders = Map.groupBy(files, ([path]) => dirname(path).split('/').slice(0, 3).join('/'));
  const rows = [...folders]
    .map(([folder, within]) => ({ folder, ...sum(within.map(([, found]) => found)) }))
    .sort((a, b) => a.folder.localeCompare(b.folder));
  const all = [...rows, { folder: 'all', ...total }];
  const width = Math.max('folder'.length, ...all.map(({ folder }) => folder.length));
  const line = (folder: string, lines: string, branches: string) =>
    `${folder.padEnd(width)}  ${lines.padStart(7)}  ${branches.padStart(8)}`;
  return [
    line('folder', 'lines', 'branches'),
    ...all.map(({ folder, lines, branches }) => line(folder, percent(lines), percent(branches))),
  ];
}

function sum(found: readonly Metrics[]): Metrics {
  const add = (name: keyof Metrics) => ({
    total: found.reduce((count, { [name]: { total } }) => count + total, 0),
    covered: found.reduce((count, { [name]: { covered } }) => count + covered, 0),
  });
  return { lines: add('lines'), branches: add('branches') };
}

function percent({ total, covered }: { total: number; covered: number }): string {
  return total === 0 ? '–' : `${((100 * covered) / total).toFixed(1)} %`;
}
