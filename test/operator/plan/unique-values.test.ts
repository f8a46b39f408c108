import { expect, test } from 'vitest';
import { httpsEdgeRouteKind } from '../../../src/operator/kinds/https-edge-route.ts';
import { reservedDomainKind } from '../../../src/operator/kinds/reserved-domain.ts';
import type { Action } from '../../../src/operator/plan/planned.ts';
import { type Asking, refusedDuplicates } from '../../../src/operator/plan/unique-values.ts';

type Kind = Asking['kind'];

const asking = (kind: Kind, name: string, spec: object, action: Action = 'create', changed: string[] = []): Asking => ({
  kind,
  spec: kind.readMembers(spec),
  planned: {
    kind: kind.kind,
    namespace: 'ns',
    name,
    action,
    changes: changed.map((path) => ({ path, before: 'a', after: 'b' })),
  },
});
const route = (name: string, match: string, more: object = {}, ...rest: [Action?, string[]?]) =>
  asking(httpsEdgeRouteKind, name, { edgeRef: { id: 'e' }, match, matchType: 'path_prefix', ...more }, ...rest);
const domain = (name: string, of: string, ...rest: [Action?, string[]?]) =>
  asking(reservedDomainKind, name, { domain: of }, ...rest);

const refusedOf = (...all: Asking[]) =>
  [...refusedDuplicates(all).values()].map(({ name, action, reason }) => [name, action, reason]);

test.each<[string, Asking[]]>([
  ['one path', [route('a', '/admin'), route('b', '/%61dmin')]],
  ['one domain', [domain('a', 'Bücher.example'), domain('b', 'xn--bcher-kva.example')]],
])('of two objects with %s, the second is blocked', (_, all) => {
  const member = all[0]?.kind === reservedDomainKind ? 'domain' : 'match';
  expect(refusedOf(...all)).toEqual([['b', 'blocked', `spec.${member}: ${all[0]?.kind.kind} ns/a has the same`]]);
});

test('what exists keeps its path, wherever it stands in the files', () => {
  const kept = route('kept', '/a', {}, 'change', ['spec.description']);
  expect(refusedOf(route('new', '/a'), kept).map(([name]) => name)).toEqual(['new']);
  const moved = route('moved', '/a', {}, 'change', ['spec.match']);
  expect(refusedOf(moved, kept).map(([name]) => name)).toEqual(['moved']);
});

test('other paths, edges and types of match are no duplicates', () => {
  const edge = { edgeRef: { id: 'f' } };
  const others = [route('b', '/a/'), route('c', '/a', edge), route('d', '/a', { matchType: 'exact_path' })];
  expect(refusedOf(route('a', '/a'), ...others)).toEqual([]);
});
