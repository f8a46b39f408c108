import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CHART } from './helm.ts';

/** The chart as an earlier version might have been: without the kind BotUser, and without a short name. */
export async function previousVersion(folder: string): Promise<string> {
  const chart = join(folder, 'previous');
  await cp(CHART, chart, { recursive: true });
  const edit = async (file: string, change: (text: string) => string) =>
    writeFile(join(chart, file), change(await readFile(join(chart, file), 'utf8')));
  await edit('Chart.yaml', (text) => text.replaceAll('0.1.0', '0.0.9'));
  await edit('templates/crds/ippolicies.yaml', (text) => text.replace('- ipp', '- oldipp'));
  await rm(join(chart, 'templates/crds/botusers.yaml'));
  return chart;
}
