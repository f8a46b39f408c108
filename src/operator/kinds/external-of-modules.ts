/** The verbs of a kind whose objects are the modules of one resource, their owner. */
import { z } from 'zod';
import type { CallOptions, ChangeOptions, WriteOptions } from '../../client/call-options.ts';
import type { Client } from '../../client/client.ts';
import { etagOf } from '../../client/entity-tags.ts';
import { ApiError } from '../../client/errors.ts';
import { idOf } from '../../resources/definition/id.ts';
import type { External, Remote } from '../managed/declaration/external.ts';
import { bodyOf, differing, type FamilyCalls, ifExists, ownId } from './external-of-family.ts';
import type { Family, FamilyField } from './family-fields.ts';

/** The client's calls for one module of one resource. */
export interface ModuleCalls {
  put(body: Record<string, unknown>, options?: ChangeOptions): Promise<object>;
  get(options?: CallOptions): Promise<object>;
  delete(options?: ChangeOptions): Promise<void>;
}

/** One module as the spec and the API have it. */
export interface AttachedModule {
  /** In the spec. */
  readonly member: string;
  /** In the API. */
  readonly name: string;
  readonly fields: readonly FamilyField[];
  calls(ownerId: string): ModuleCalls;
}

/** A resource with those of its modules that the kind knows. */
export interface Owner extends Remote {
  /** By their names in the API. */
  readonly modules: Readonly<Record<string, object>>;
}

const withModules = z.looseObject({ modules: z.array(z.string()) });

export function externalOfModules<Spec extends object>(
  { prefix, access }: Pick<Family, 'prefix' | 'access'>,
  /** Modules that restrict access come before those that serve: set in this order, removed in the reverse. */
  modules: readonly AttachedModule[],
  owners: FamilyCalls<Remote>,
  { moduleManagers }: Pick<Client, 'moduleManagers'>,
): External<Spec, Owner> {
  if (access === 'owner') throw new Error('a hidden resource must not count as gone');
  const ids = idOf(prefix);
  const settingsOf = (spec: Spec, { member }: AttachedModule) => declared(new Map(Object.entries(spec)).get(member));
  const read = async (found: Remote): Promise<Owner> => {
    const names = withModules.parse(found).modules;
    const settings: [string, object][] = [];
    for (const { name, calls } of modules.filter((each) => names.includes(each.name))) {
      // Deleted since then; so the revision of the owner is outdated as well, and no write will be accepted.
      const module = await ifExists(calls(found.id).get());
      if (module) settings.push([name, module]);
    }
    return { id: found.id, uri: found.uri, etag: etagOf(found), modules: Object.fromEntries(settings) };
  };
  const observe = async (id: string) => {
    const found = await ifExists(owners.get(id));
    return found && read(found);
  };
  const changesOf = (module: AttachedModule, spec: Spec, remote: Owner): string[] => {
    const [desired, observed] = [settingsOf(spec, module), remote.modules[module.name]];
    if (!desired || !observed) return desired || observed ? [module.member] : [];
    return differing(module.fields, desired, observed).map((field) => `${module.member}.${field}`);
  };
  const none = { resources: [], nextSequence: 1 };
  return {
    idPrefix: `${prefix}_`,
    isId: owners.isId ?? ((id) => ids.safeParse(id).success),
    observe,
    changes: (spec, remote) => modules.flatMap((module) => changesOf(module, spec, remote)),
    immutableChanges: () => [],
    replacingChanges: () => [],
    async update(remote, spec, options) {
      const different = modules.filter((module) => changesOf(module, spec, remote).length > 0);
      let current = remote;
      // Set modules before removing others: a route that moves from OIDC to OAuth must not be open in between.
      for (const module of different) {
        const desired = settingsOf(spec, module);
        if (desired) current = await put(current, module, desired, options);
      }
      for (const module of different.toReversed()) {
        if (!settingsOf(spec, module)) current = await remove(current, module, options);
      }
      return current;
    },
    async delete(id, options) {
      const found = await observe(id);
      if (!found) return 'not found';
      let current: Owner = found;
      for (const module of modules.toReversed()) {
        if (current.modules[module.name]) current = await remove(current, module, options);
      }
      return 'deleted';
    },
    claim: async (id, options) => void (await ifExists(moduleManagers.claim(ownId(id), options))),
    release: async (id, options) => void (await ifExists(moduleManagers.release(ownId(id), options))),
    create: (): never => {
      throw new Error('modules are set, not created');
    },
    sight: async () => 'everything',
    async *all(wanted) {
      for await (const owner of owners.list({}, wanted)) if (wanted?.has(owner.id) ?? true) yield await read(owner);
    },
    scope: async () => none,
    closeScope: async () => none,
  };

  /** Only at the revision that was compared, so that a late write does not undo a newer one. */
  async function put(
    owner: Owner,
    { name, fields, calls }: AttachedModule,
    settings: object,
    options: WriteOptions | undefined,
  ): Promise<Owner> {
    const sent = calls(owner.id).put(bodyOf(fields, settings), { ...options, ifMatch: owner.etag });
    const answered = await sent.catch((error: unknown) => {
      throw within(name, error);
    });
    return { ...owner, etag: etagOf(answered), modules: { ...owner.modules, [name]: answered } };
  }

  async function remove(
    owner: Owner,
    { name, calls }: AttachedModule,
    options: WriteOptions | undefined,
  ): Promise<Owner> {
    await ifExists(calls(owner.id).delete({ ...options, ifMatch: owner.etag }));
    const { [name]: _, ...others } = owner.modules;
    // The response has no body, and so no revision.
    const after = await ifExists(owners.get(owner.id));
    return { ...owner, etag: after && etagOf(after), modules: others };
  }
}

/** Turns an error about the settings of a module into one about the spec. */
function within(module: string, error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const { code, status, message, retryAfterMs } = error;
  const details = Object.fromEntries(
    Object.entries(error.details).map(([name, value]) => [name.startsWith('/') ? `/${module}${name}` : name, value]),
  );
  return new ApiError({ error_code: code, status_code: status, msg: message, details }, retryAfterMs);
}

const declared = (value: unknown): object | undefined =>
  typeof value === 'object' && value !== null ? value : undefined;
