/** The workflows run on GitHub only; what they name must exist. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const FILES = globSync('.github/workflows/*', { cwd: ROOT });

const step = z.object({ uses: z.string().optional(), run: z.string().optional() });
const job = z.object({
  uses: z.string().optional(),
  needs: z.preprocess((names) => [names ?? []].flat(), z.array(z.string())),
  strategy: z.object({ matrix: z.object({ command: z.array(z.string()).default(['']) }) }).optional(),
  steps: z.array(step).default([]),
});
const workflow = z.object({ permissions: z.object({ contents: z.literal('read') }), jobs: z.record(z.string(), job) });
const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));

describe.each(FILES)('%s', (file) => {
  const { jobs } = workflow.parse(parse(read(file)));

  it('pins every action to a commit, and names its version', () => {
    const uses = read(file).match(/uses: .*/g) ?? [];
    const pinned = /^uses: (\.\/.*|[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/;
    expect(uses.filter((each) => !pinned.test(each))).toEqual([]);
  });

  it('runs scripts that package.json has', () => {
    const commands = Object.values(jobs).flatMap(({ steps, strategy }) => {
      const all = strategy?.matrix.command ?? [''];
      return all.flatMap((command) =>
        steps.map(({ run = '' }) => run.replaceAll(/\$\{\{ matrix\.command \}\}/g, command)),
      );
    });
    const named = commands.flatMap((run) => [...run.matchAll(/npm run (\S+)/g)].map(([, name = '']) => name));
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});

describe('a release', () => {
  const file = '.github/workflows/release.yml';
  const { jobs } = workflow.parse(parse(read(file)));
  /** All jobs that have succeeded when this one starts. */
  const neededBy = (name: string): string[] => (jobs[name]?.needs ?? []).flatMap((each) => [each, ...neededBy(each)]);
  const thatDo = (pattern: RegExp) =>
    Object.entries(jobs).flatMap(([name, { uses = '', steps }]) =>
      [uses, ...steps.flatMap((each) => [each.uses ?? '', each.run ?? ''])].some((text) => pattern.test(text))
        ? [name]
        : [],
    );
  const publishing = thatDo(/^npm publish|helm push|docker\/build-push-action@/);

  it('publishes only the tagged version, after its tests and audits have passed', () => {
    expect(publishing).toHaveLength(3);
    const wanted = [/package\.json.*GITHUB_REF_NAME/, /workflows\/ci\.yml$/, /workflows\/e2e\.yml$/];
    for (const pattern of wanted) {
      const names = thatDo(pattern);
      expect(names, String(pattern)).toHaveLength(1);
      for (const each of publishing) expect(neededBy(each)).toEqual(expect.arrayContaining(names));
    }
  });
});

describe('Dependabot', () => {
  const names = z.array(z.string()).optional();
  const update = z.object({ 'package-ecosystem': z.string(), directory: z.string().optional(), directories: names });
  const { updates } = z.object({ updates: z.array(update) }).parse(parse(read('.github/dependabot.yml')));
  const looksAt = (ecosystem: string) =>
    updates
      .filter((each) => each['package-ecosystem'] === ecosystem)
      .flatMap(({ directory, directories }) => directories ?? [directory ?? '']);

  it.each([
    ['npm', 'package.json'],
    ['pip', 'requirements.txt'],
    ['gomod', 'go.mod'],
  ])('checks every folder of %s, and no other', (ecosystem, file) => {
    const found = globSync(`{${file},dev/**/${file}}`, { cwd: ROOT, exclude: ['**/node_modules/**'] });
    expect(looksAt(ecosystem).sort()).toEqual(found.map((each) => join('/', dirname(each))).sort());
  });
});

it('a release puts the image that it has built, and its own address, into the chart that it publishes', () => {
  const values = read('charts/tunnel-operator/values.yaml');
  const release = read('.github/workflows/release.yml');
  for (const line of ["  registry: ''", '  repository: tunnel-operator']) {
    expect(values.split('\n').filter((each) => each === line)).toEqual([line]);
    expect(release).toContain(`s#^${line}\\$#`);
  }
  const added = [...release.matchAll(/"(\w+): \[?\$/g)].map(([, member = '']) => member);
  expect(added).toEqual(['home', 'sources', 'icon']);
  const chart = z.record(z.string(), z.unknown()).parse(parse(read('charts/tunnel-operator/Chart.yaml')));
  expect(added.filter((member) => member in chart)).toEqual([]);
  const [, icon = ''] = /\/(charts\/\S+\.svg)"/.exec(release) ?? [];
  expect(read(icon)).toContain('<svg');
});
