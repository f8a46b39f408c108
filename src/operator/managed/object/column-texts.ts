/** What `kubectl get` shows of lists and maps. Pure. */
import { z } from 'zod';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { PrinterColumn } from '../declaration/kind.ts';

/** How many items fit into a column. */
const MOST_SHOWN = 3;
/** In characters, of one item. */
const LONGEST = 64;

const item = z.union([
  z.string(),
  z.object({ name: z.string() }),
  z.object({ id: z.string() }),
  z.object({ type: z.string() }),
]);
const listed = z.union([z.array(item), z.record(z.string(), z.string())]);

/** The member `columns` of the status; absent without such columns. */
export function columnTexts(
  columns: readonly PrinterColumn[],
  { spec }: KubeObject,
  status: Readonly<Record<string, unknown>>,
): { columns?: Record<string, string> | undefined } {
  const lists = columns.flatMap((column) => column.lists ?? []);
  if (lists.length === 0) return {};
  const texts = lists.flatMap(({ in: place, member }) => {
    const members = new Map<string, unknown>(Object.entries(Object(place === 'spec' ? spec : status)));
    const text = listText(members.get(member));
    return text === undefined ? [] : [[member, text] as const];
  });
  return { columns: texts.length > 0 ? Object.fromEntries(texts) : undefined };
}

/** As in `office, home, warehouse, +2`; undefined if there is nothing to show. */
export function listText(value: unknown): string | undefined {
  const { data = [] } = listed.safeParse(value);
  const items = Array.isArray(data) ? data.map(textOf) : Object.entries(data).map((entry) => entry.join('='));
  if (items.length === 0) return undefined;
  const shown = items.slice(0, MOST_SHOWN).map(clipped);
  const more = items.length - shown.length;
  return [...shown, ...(more > 0 ? [`+${more}`] : [])].join(', ');
}

function textOf(one: z.output<typeof item>): string {
  if (typeof one === 'string') return one;
  if ('name' in one) return one.name;
  return 'id' in one ? one.id : one.type;
}

const clipped = (text: string) => (text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`);
