/** From a stored row to what the API shows. */
import type { Resource } from '../resources/resource.ts';
import type { Row } from './store/repository.ts';

/** A resource as responses and events show it; one-time tokens are null. */
export interface ViewOfRow {
  id: string;
  uri: string;
  created_at: string;
  [field: string]: unknown;
}

/** The function that makes views of one family. */
export function viewer(resource: Resource): (row: Row, base: string) => ViewOfRow {
  const fields = Object.entries(resource.fields).map(([name, field]) => ({ name, stored: field.storage !== 'none' }));
  return (row, base) => {
    const view: ViewOfRow = { id: row.id, uri: `${base}${resource.path}/${row.id}`, created_at: row.created_at };
    for (const { name, stored } of fields) view[name] = stored ? row[name] : null;
    return view;
  };
}
