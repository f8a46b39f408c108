/** Calls for one module of one resource. */
import type { z } from 'zod';
import type { Module } from '../resources/definition/module.ts';
import type { Fields } from '../resources/definition/resource.ts';
import type { CallOptions, ChangeOptions } from './call-options.ts';
import { read } from './entity-tags.ts';
import type { Transport } from './transport.ts';

/** All throw ApiError or ApiUnreachableError. */
export interface ModuleClient<M extends Module> {
  /** Replaces the whole module: settings that are left out get their default. */
  put(body: z.input<M['input']>, options?: ChangeOptions): Promise<z.output<M['view']>>;
  get(options?: CallOptions): Promise<z.output<M['view']>>;
  delete(options?: ChangeOptions): Promise<void>;
}

/** @param owner path of the resource that the module belongs to */
export function moduleClient<F extends Fields, Name extends string>(
  transport: Transport,
  owner: string,
  module: Module<F, Name>,
): ModuleClient<Module<F, Name>> {
  const path = `${owner}/${module.name}`;
  return {
    async put(body, options = {}) {
      return read(module.view, await transport.send({ method: 'PUT', path, body, ...options }));
    },
    async get(options = {}) {
      return read(module.view, await transport.send({ method: 'GET', path, ...options }));
    },
    async delete(options = {}) {
      await transport.send({ method: 'DELETE', path, ...options });
    },
  };
}
