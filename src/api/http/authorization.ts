/**
 * Who may do what. Decided here for every operation, from what it says about itself, before the body of a request is read.
 * Operations on what belongs to owners show callers who are not admins only their own (crud/family.ts).
 */
import { includes, scopeOf } from '../../resources/scopes.ts';
import { permissionDenied } from '../errors/errors.ts';
import type { Caller } from './authentication.ts';
import type { Operation, Permission } from './operation.ts';

type Needs = Permission & Pick<Operation, 'method' | 'permissionFor'>;

/** Whatever reveals or issues something is no GET, and so a write. */
export const isWrite = ({ method }: Pick<Operation, 'method'>) => method !== 'GET';

/**
 * @param params those of the path, not checked yet
 * @throws PERMISSION_DENIED unless the role of the caller and the scopes of the API key permit the operation
 */
export function authorize(caller: Caller, operation: Needs, params: Readonly<Record<string, string>>): void {
  permit(caller, operation, isWrite(operation));
  const more = operation.permissionFor?.(params);
  if (more) permit(caller, more, isWrite(operation));
}

function permit(caller: Caller, { access, family }: Permission, writes: boolean): void {
  if (access === 'platform' && !caller.isPlatformAdmin)
    throw permissionDenied('Only admins of the first account may do this.');
  if (access === 'admin' && !caller.admin) throw permissionDenied('Only admins may do this.');
  if (writes && caller.isViewer)
    throw permissionDenied('The owner of the API key is a viewer, who may only read.', { role: 'viewer' });
  if (family === null || caller.scopes === null) return;
  const scope = scopeOf(family, writes);
  if (!includes(caller.scopes, scope)) throw permissionDenied(`The API key lacks the scope ${scope}.`, { scope });
}

/** Whether responses show the caller secrets as they were sent. Otherwise they show them as events do. */
export const seesSecrets = ({ isViewer }: Pick<Caller, 'isViewer'>) => !isViewer;
