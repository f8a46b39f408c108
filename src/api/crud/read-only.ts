/** Checks that the read-only members which an update sends back equal those of the resource. */
import { isDeepStrictEqual } from 'node:util';
import type { Field, Resource } from '../../resources/definition/resource.ts';
import { insideElements, isSame, memberOf, refuseUnless, type SentBack } from '../http/read-only-members.ts';
import type { Row } from '../store/repository.ts';
import type { Family } from './family.ts';
import type { WriteContext } from './hooks.ts';
import type { ViewOfRow } from './view.ts';

/** Throws INVALID_REQUEST naming every read-only member whose value differs from the locked row. */
export async function refuseOtherValues<R extends Resource>(
  context: WriteContext,
  family: Family<R>,
  sentBack: readonly SentBack[],
  { row, before, after }: { row: Row; before: ViewOfRow; after: ViewOfRow },
): Promise<void> {
  if (sentBack.length === 0) return;
  const { resource } = family;
  const others = await withoutSecret(context, family, sentBack, row.id);
  const isOfElement = insideElements(others, before, after);
  refuseUnless(others, (one) => {
    const { path, value } = one;
    const name = String(path[0]);
    if (path.length > 1) return isOfElement(one);
    const field = resource.fields[name];
    if (field?.movesByItself && field.view.safeParse(value).success) return true;
    // A reference is shown under another name.
    const shown = memberOf(before, name) === undefined ? row[name] : memberOf(before, name);
    return isSame(value, shown, name) || isStoredAs(field, value, row[name]);
  });
}

/** Leaves out the secret if it is the right one: no response shows it, but sending it back changes nothing. */
async function withoutSecret<R extends Resource>(
  context: WriteContext,
  { hooks, secret: name }: Family<R>,
  sentBack: readonly SentBack[],
  id: string,
): Promise<readonly SentBack[]> {
  const secret = sentBack.find(({ path }) => path.length === 1 && path[0] === name);
  if (typeof secret?.value !== 'string' || !(await hooks.isSecret?.(context, id, secret.value))) return sentBack;
  return sentBack.filter((one) => one !== secret);
}

/**
 * Whether an immutable field was sent in another spelling of the stored value. Null means the same as in the create: the
 * initial value, or the one that the service chose.
 */
function isStoredAs(field: Field | undefined, sent: unknown, stored: unknown): boolean {
  const read = field?.input.safeParse(sent);
  if (!field || !read?.success || stored === undefined) return false;
  if (read.data === null && field.chosen) return true;
  return isDeepStrictEqual(read.data ?? field.initial, stored);
}
