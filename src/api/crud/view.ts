/** Turns a stored row into what the API shows. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Address, type Fields, isShown, type Resource } from '../../resources/definition/resource.ts';
import type { Row } from '../store/repository.ts';

/** A resource as responses and events show it; one-time tokens are null. */
export interface ViewOfRow {
  id: string;
  uri: string;
  created_at: string;
  [field: string]: unknown;
}

/** A path with its parameters filled in. */
export function fillPath(path: string, values: Readonly<Record<string, unknown>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
}

/** The base of stored views. Their links are paths, since a client may send any Host header. */
export const NO_BASE = '';

/** The function that makes views of one family. */
export function viewer(resource: Resource): (row: Row, base: string) => ViewOfRow {
  const { path, parent } = resource;
  const show = fieldsViewer(resource.fields);
  const listAt = (row: Row) => (parent ? fillPath(path, row) : path);
  return (row, base) => {
    const uri = `${base}${listAt(row)}/${row.id}`;
    const view: ViewOfRow = { id: row.id, uri, created_at: row.created_at };
    show(row, { base, uri }, view);
    return view;
  };
}

/** Returns a function that completes the links of a stored view, and leaves a `uri` in user data alone. */
export function linker(resource: Resource): (stored: Readonly<Record<string, unknown>>, base: string) => object {
  const linked = new Set(['uri']);
  for (const [name, { as = name, show }] of Object.entries(resource.fields)) if (show) linked.add(as);
  return (stored, base) =>
    Object.fromEntries(
      Object.entries(stored).map(([name, value]) => [name, linked.has(name) ? completed(name, value, base) : value]),
    );
}

function completed(name: string, value: unknown, base: string): unknown {
  // Earlier releases stored absolute links.
  if (typeof value === 'string') return name === 'uri' && value.startsWith('/') ? base + value : value;
  if (Array.isArray(value)) return value.map((each) => completed(name, each, base));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([inner, each]) => [inner, completed(inner, each, base)]));
}

type Values = Readonly<Record<string, unknown>>;

/** The names of the members that differ. */
export const differing = (before: Values, after: Values): string[] =>
  Object.keys({ ...before, ...after }).filter((name) => !isDeepStrictEqual(before[name], after[name]));

/** The function that adds the members of these fields to a view. */
export function fieldsViewer(fields: Fields): (values: Values, at: Address, view: Record<string, unknown>) => void {
  const visible = Object.entries(fields).filter(([, field]) => isShown(field));
  const shown = visible.map(([name, { as = name, storage, show, view }]) => ({
    name,
    as,
    show: storage === 'none' ? () => null : show,
    isOmitted: view instanceof z.ZodOptional,
  }));
  return (values, at, view) => {
    for (const { name, as, show, isOmitted } of shown) {
      const value = values[name];
      if (!isOmitted || (value !== null && value !== undefined)) view[as] = show ? show(value, at) : value;
    }
  };
}
