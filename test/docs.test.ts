/** What the documentation lists is what there is. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { exampleFile } from '../dev/fixtures/example-file.ts';
import { ANNOTATION } from '../src/operator/contract/names.ts';
import { EVENT_REASON, REASON } from '../src/operator/contract/reasons.ts';
import { allKinds } from '../src/operator/kinds/kinds.ts';
import { operatorSettings } from '../src/operator/settings.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const DOCUMENTS = globSync(['*.md', '{bench,charts,crds,dev,docs,examples}/**/*.md'], { cwd: ROOT });
const packageFile = z.object({
  dependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
});

/** Short and singular names under which kubectl knows what clusters that have tunnels are likely to have. */
const TAKEN = new Set(
  [
    'cm cs csr ds deploy ep ev hpa ing limits netpol no ns pc pdb po pv pvc quota rc rs sa sc sts svc cj crd crds vac',
    'gtw gc btp tlsroute httproute grpcroute gateway referencegrant refgrant backendtlspolicy xlistenerset',
    'cert certs cr crs ciss issuer clusterissuer challenge order',
    'vs dr gw se we wg pa ra ap sidecar envoyfilter telemetry wp',
  ].flatMap((names) => names.split(' ')),
);

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

  // The types let a condition have no others.
  it.each(
    Object.entries({ REASON, EVENT_REASON }).flatMap(([name, reasons]) =>
      Object.keys(reasons).map((key) => `${name}.${key}`),
    ),
  )('explains no reason that nothing sets: %s', (constant) => {
    const sources = globSync('src/operator/{kinds,managed}/**/*.ts', { cwd: ROOT });
    expect(sources.some((file) => new RegExp(`\\b${constant}\\b`).test(read(file)))).toBe(true);
  });
});

it('pictures are small', () => {
  const large = globSync('docs/pictures/*', { cwd: ROOT }).filter((file) => statSync(join(ROOT, file)).size > 200_000);
  expect(large).toEqual([]);
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

  it('lists nothing that is not depended on', () => {
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

  // Of what is plural by name, both forms are one, as of Endpoints.
  const names = allKinds.flatMap(({ plural, singular, shortNames }) => [...new Set([plural, singular]), ...shortNames]);

  it('has names that no other has, nor Kubernetes, Gateway API, cert-manager or Istio', () => {
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(names.filter((name) => TAKEN.has(name))).toEqual([]);
  });
});

describe('links', () => {
  it.each(DOCUMENTS)('of %s lead somewhere', (file) => {
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

it('CONTRIBUTING.md names every number that a test takes from the environment, and no other', () => {
  const tests = globSync('test/**/*.ts', { cwd: ROOT }).map(read).join('\n');
  const taken = [...tests.matchAll(/Number\(process\.env\.(\w+)/g)].map(([, name]) => name);
  const rows = read('CONTRIBUTING.md').match(/^\| `[A-Z_]+`.*? \|/gm) ?? [];
  const named = rows.flatMap((row) => [...row.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name));
  expect(named.toSorted()).toEqual([...new Set(taken)].toSorted());
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

it('every setting of the operator has a flag or is a secret', () => {
  const without = Object.values(operatorSettings).filter((setting) => !('flag' in setting) && !('secret' in setting));
  expect(without).toEqual([]);
});
