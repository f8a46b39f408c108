/** Calls for the record of who manages a resource, or its modules. */
import { type ManagedPart, resourceManager } from '../resources/definition/manager.ts';
import type { CallOptions, ClaimOptions, WriteOptions } from './call-options.ts';
import { read } from './entity-tags.ts';
import { segment } from './path-segment.ts';
import type { Transport } from './transport.ts';

export function managerClient(transport: Transport, part: ManagedPart) {
  const at = (id: string) => ['/resource_managers', segment(id), part].filter(Boolean).join('/');
  return {
    /** For admins. @throws ApiError (NOT_FOUND) if none is recorded */
    async get(id: string, options: CallOptions = {}) {
      return read(resourceManager, await transport.send({ method: 'GET', path: at(id), ...options }));
    },
    /** Records `manager`. @throws ApiError (CONFLICT) if another one is recorded, other than `takeOverFrom` */
    async claim(id: string, { takeOverFrom, ...options }: ClaimOptions = {}) {
      const body = takeOverFrom === undefined ? {} : { take_over_from: takeOverFrom };
      return read(resourceManager, await transport.send({ method: 'PUT', path: at(id), body, ...options }));
    },
    /** Deletes the record; with `manager`, only if it names that one. */
    async release(id: string, options: WriteOptions = {}) {
      await transport.send({ method: 'DELETE', path: at(id), ...options });
    },
  };
}
