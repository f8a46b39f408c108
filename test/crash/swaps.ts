/** Stories of two objects that swap something which only one resource can have. docs/decisions/0016 has the rule. */
import { type StoryRow, storyRow } from '../../dev/fixtures/story-rows.ts';
import type { DeclaredByRow } from './declared.ts';
import type { Cast, Scenario } from './scenarios.ts';

/** Two objects, one after the other: what each has before, and what it has afterwards. */
type Pair = readonly [DeclaredByRow, DeclaredByRow];
interface Swap {
  readonly before: Pair;
  readonly after: Pair;
}

interface Own {
  readonly spec: object;
  readonly remote: object;
}

const ROUTE = storyRow('HTTPSEdgeRoute');
const EDGES = [storyRow('HTTPSEdge'), storyRow('TLSEdge')] as const;

/** Numbers that no performance has. */
const OTHER = 5_000;

type Side = 'left' | 'right';

async function routeAt(cast: Cast, side: Side, match: string, edge: 'one' | 'other' = 'one'): Promise<DeclaredByRow> {
  const n = numberOf(cast);
  const { least } = await cast.stage.declare(ROUTE, edge === 'one' ? n : n + OTHER);
  return having(ROUTE, `${side}-${n}`, least, { spec: { match }, remote: { match } });
}

async function paths(cast: Cast): Promise<Swap> {
  const at = (left: string, right: string) =>
    Promise.all([routeAt(cast, 'left', left), routeAt(cast, 'right', right)] as const);
  return { before: await at('/a', '/b'), after: await at('/b', '/a') };
}

async function edges(cast: Cast): Promise<Swap> {
  const [left, right] = await Promise.all([routeAt(cast, 'left', '/'), routeAt(cast, 'right', '/', 'other')]);
  const moved = await Promise.all([routeAt(cast, 'left', '/', 'other'), routeAt(cast, 'right', '/')]);
  return { before: [left, right], after: moved };
}

async function hostports(cast: Cast): Promise<Swap> {
  const n = numberOf(cast);
  const [https, tls] = EDGES;
  const [left, right] = await Promise.all(EDGES.map(async (row) => (await cast.stage.declare(row, n)).another));
  if (!left || !right) throw new Error('an edge of each kind is needed');
  const at = (ofLeft: unknown, ofRight: unknown): Pair => [
    having(https, `left-${n}`, left, { spec: { hostports: ofLeft }, remote: { hostports: ofLeft } }),
    having(tls, `right-${n}`, right, { spec: { hostports: ofRight }, remote: { hostports: ofRight } }),
  ];
  const [one, other] = [left.spec.hostports, right.spec.hostports];
  return { before: at(one, other), after: at(other, one) };
}

function having(row: StoryRow, name: string, base: Omit<DeclaredByRow, 'kind' | 'name'>, own: Own): DeclaredByRow {
  const [spec, remote] = [
    { ...base.spec, ...own.spec },
    { ...base.remote, ...own.remote },
  ];
  return { ...base, kind: row.name, name, spec, remote };
}

function numberOf({ each }: Cast): number {
  const [one] = each;
  if (!one) throw new Error('a swap is of some kind');
  return one.n;
}

const applyAll = ({ stage }: Cast, pair: Pair) => Promise.all(pair.map((declared) => stage.apply(declared)));

function swap(name: string, rows: readonly StoryRow[], of: (cast: Cast) => Promise<Swap>): Scenario {
  return {
    name,
    rows,
    given: async (cast) => void (await applyAll(cast, (await of(cast)).before)),
    act: async (cast) => void (await applyAll(cast, (await of(cast)).after)),
  };
}

/** They end exactly as without a crash: each object has what it declares, and nothing was created twice. */
export const swaps: readonly Scenario[] = [
  swap('swaps the paths of two routes', [ROUTE], paths),
  swap('swaps the edges of two routes', [ROUTE], edges),
  swap('swaps the hostports of two edges', EDGES, hostports),
];
