/** What `npm run bench` measures, by name. */
import { benchApi } from './api.ts';
import { type BenchOptions, benchOperator } from './operator.ts';

export const PARTS: Readonly<Record<string, (options: BenchOptions) => Promise<void>>> = {
  api: benchApi,
  operator: benchOperator,
};
