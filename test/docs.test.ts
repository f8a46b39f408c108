/** The documentation lists exactly what exists. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { exampleFile } from '../dev/fixtures/example-file.ts';
import { ANNOTATION } from '../src/operator/contract/names.ts';
import { EVENT_REASON, REASON } from '../src/operator/contract/reasons.ts';
import { allKinds } from '../src/operator/kinds/kinds.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const DOCUMENTS = globSync(['*.md', '{bench,charts,crds,dev,docs,examples}/**/*.md'], { cwd: ROOT });
const packageFile = z.object({
  dependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
});

describe('docs/operator/annotations.md', () => {
  const text = read('docs/operator/annotations.md');

  it.each(Object.values(ANNOTATION))('names the annotation %s', (name) => {
    expect(text).toContain(name);
  });
});

describe('docs/troubleshooting.md', () => {
  const page = read('docs/troubleshooting.md');
  const rowsOf = (section: string) => {
    const [, text = ''] = new RegExp(`<!-- ${section}: .*?-->(.*?)<!-- /${section} -->`, 's').exec(page) ?? [];
    return [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, reason = '']) => reason);
  };

  it('explains every reason of a condition and of an Event, once', () => {
    expect(rowsOf('reasons').toSorted()).toEqual(Object.values(REASON).toSorted());
    expect(rowsOf('events').toSorted()).toEqual(Object.values(EVENT_REASON).toSorted());
  });

  // The types allow a condition no other reasons.
  it.each(
    Object.entries({ REASON, EVENT_REASON }).flatMap(([name, reasons]) =>
      Object.keys(reasons).map((key) => `${name}.${key}`),
    ),
  )('explains only reasons that something sets: %s', (constant) => {
    const sources = globSync('src/operator/{kinds,managed}/**/*.ts', { cwd: ROOT });
    expect(sources.some((file) => new RegExp(`\\b${constant}\\b`).test(read(file)))).toBe(true);
  });
});

it('docs/architecture.md walks through files that exist', () => {
  const files = [...read('docs/architecture.md').matchAll(/`((?:src|dev|test)\/[\w./-]+)`/g)].map(
    ([, file = '']) => file,
  );
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

describe('docs/dependencies.md', () => {
  const { dependencies, optionalDependencies, devDependencies } = packageFile.parse(JSON.parse(read('package.json')));
  const all = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies });

  it.each(all)('gives the reason for %s', (name) => {
    expect(read('docs/dependencies.md')).toContain(`\`${name}\``);
  });

  it('lists only dependencies', () => {
    const listed = [...read('docs/dependencies.md').matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    );
    expect(listed.filter((name) => !all.includes(name))).toEqual([]);
  });
});

describe('every kind', () => {
  it.each(allKinds)('$kind has an example', ({ kind }) => {
    const file = exampleFile(kind);
    expect(existsSync(join(ROOT, file)), `${file} is missing: a manifest of ${kind} to copy`).toBe(true);
    const documents = parseAllDocuments(read(file)).map((document) => document.toJS());
    expect(documents).toContainEqual(expect.objectContaining({ kind }));
  });

  it.each(allKinds)('$kind has a file of its own name', ({ kind }) => {
    const file = exampleFile(kind).replace('examples/', 'src/operator/kinds/').replace('.yaml', '.ts');
    expect(existsSync(join(ROOT, file)), `${kind} is not in ${file}`).toBe(true);
  });
});

describe('links', () => {
  it.each(DOCUMENTS)('of %s are not broken', (file) => {
    const links = [...read(file).matchAll(/\]\(([^)#]*)(?:#([^)]*))?\)/g)].map(([, target = '', heading]) => {
      const path = target === '' ? file : join(dirname(file), target);
      return { target, path, heading };
    });
    const broken = links
      .filter(({ target }) => !/^https?:/.test(target))
      .filter(({ path, heading }) => {
        if (!existsSync(join(ROOT, path))) return true;
        return heading !== undefined && !anchorsOf(path).includes(heading);
      });
    expect(broken).toEqual([]);
  });
});

it('every page can be reached from README.md', () => {
  const reached = new Set(['README.md']);
  for (const file of reached) {
    for (const target of linksOf(file))
      if (target.endsWith('.md') && existsSync(join(ROOT, target))) reached.add(target);
  }
  expect(DOCUMENTS.filter((file) => !reached.has(file))).toEqual([]);
});

/** Files that a page links to; a folder stands for its README.md. */
function linksOf(file: string): string[] {
  const targets = [...read(file).matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, target = '']) => target);
  return targets
    .filter((target) => !/^https?:/.test(target))
    .map((target) => join(dirname(file), target))
    .flatMap((path) => (path.endsWith('.md') ? [path] : [join(path, 'README.md')]));
}

/** The anchors that GitHub gives to the headings of a document. */
function anchorsOf(file: string): string[] {
  const headings = [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
