/**
 * npm run screens [-- --check]
 *
 * Writes into docs/kinds what `kubectl get` and `describe` show of each kind. It starts what the demo starts, with the
 * examples, and adds an object of each kind that fails. `--check` only reports what is out of date.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { exampleFile } from '../dev/fixtures/example-file.ts';
import { failing, type Manifest, manifest } from '../dev/screens/failing.ts';
import { kindPage, kindPageFile } from '../dev/screens/kind-page.ts';
import { stabilizer } from '../dev/screens/stable.ts';
import { ANNOTATION } from '../src/operator/contract/names.ts';
import { allKinds, attachedKinds, kinds } from '../src/operator/kinds/kinds.ts';
import { Demo } from './demo-stack.ts';

const ROOT = join(import.meta.dirname, '..');
const NOWHERE = '01jd0000000000000000000000';
const PATIENCE_MS = 60_000;

const prefixOf = (name: string) =>
  [
    ...kinds.map(({ kind, family }) => ({ kind, prefix: family.prefix })),
    ...attachedKinds.map(({ kind, ownerFamily }) => ({ kind, prefix: ownerFamily.prefix })),
  ].find(({ kind }) => kind === name)?.prefix;

/** The object of the kind in its example. */
async function exampleOf(kind: string): Promise<Manifest> {
  const documents = parseAllDocuments(await readFile(join(ROOT, exampleFile(kind)), 'utf8'));
  const found = documents.map((each) => manifest.parse(each.toJS())).find((each) => each.kind === kind);
  if (!found) throw new Error(`${exampleFile(kind)} has no ${kind}`);
  return found;
}

async function pages(demo: Demo): Promise<Map<string, string>> {
  const examples = await Promise.all(allKinds.map(({ kind }) => exampleOf(kind)));
  const folder = await mkdtemp(join(tmpdir(), 'screens-'));
  try {
    const file = join(folder, 'failing.json');
    const items = examples.map((each) =>
      failing(each, { annotation: ANNOTATION.adopt, id: `${prefixOf(each.kind)}_${NOWHERE}` }),
    );
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await demo.apply(file);
  } finally {
    await rm(folder, { recursive: true });
  }
  const written = new Map<string, string>();
  for (const [index, kind] of allKinds.entries()) {
    await untilFailed(demo, kind.plural);
    const screens = await screensAbout(demo, kind.plural, examples[index]?.metadata.name ?? '');
    written.set(kindPageFile(kind.kind), kindPage(kind, screens));
  }
  return written;
}

async function untilFailed(demo: Demo, plural: string): Promise<void> {
  await demo.show('wait', '--for=condition=Ready=False', `--timeout=${PATIENCE_MS / 1000}s`, plural, 'broken');
  const until = Date.now() + PATIENCE_MS;
  // The Event is written after the condition.
  while (!(await demo.show('describe', plural, 'broken')).includes('Events:\n') || (await hasNoEvents(demo, plural))) {
    if (Date.now() > until) throw new Error(`there is no Event about ${plural} broken`);
    await delay(200);
  }
}

async function hasNoEvents(demo: Demo, plural: string): Promise<boolean> {
  return (await demo.show('describe', plural, 'broken')).includes('Events:  ');
}

/** @param name of an object that is Ready */
async function screensAbout(demo: Demo, plural: string, name: string): Promise<string> {
  const stable = stabilizer();
  const screen = async (...args: string[]) => {
    const text = stable(await demo.show(...args));
    // Events before an object was Ready depend on the order in which the others were created.
    const shown = args.includes(name) ? text.replace(/\nEvents:.*$/s, '') : text;
    return `\`\`\`console\n$ kubectl ${args.join(' ')}\n${shown}\n\`\`\``;
  };
  return [
    '## All of them',
    await screen('get', plural),
    '## One that is Ready',
    await screen('describe', plural, name),
    '## One that is not',
    await screen('describe', plural, 'broken'),
  ].join('\n\n');
}

async function main(): Promise<number> {
  const demo = new Demo({ onLoss: (message) => process.stderr.write(`${message}\n`) });
  const interrupted = new Promise<'interrupted'>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve('interrupted'));
  });
  const work = async () => {
    await demo.startApi();
    await demo.startCluster(say);
    await demo.installCrds();
    await demo.startOperator();
    await demo.applyExamples();
    await demo.waitUntilReady();
    return pages(demo);
  };
  try {
    const wanted = await Promise.race([work(), interrupted]);
    if (wanted === 'interrupted') return 130;
    return process.argv.includes('--check') ? check(wanted) : await write(wanted);
  } finally {
    await demo.stop();
  }
}

async function check(wanted: ReadonlyMap<string, string>): Promise<number> {
  const stale: string[] = [];
  for (const [file, text] of wanted) {
    const found = await readFile(join(ROOT, file), 'utf8').catch(() => undefined);
    if (found !== text) stale.push(file);
  }
  for (const file of stale) say(`${file} is out of date: npm run screens`);
  return stale.length === 0 ? 0 : 1;
}

async function write(wanted: ReadonlyMap<string, string>): Promise<number> {
  for (const [file, text] of wanted) await writeFile(join(ROOT, file), text);
  say(`wrote ${wanted.size} pages to docs/kinds`);
  return 0;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exit(await main());
