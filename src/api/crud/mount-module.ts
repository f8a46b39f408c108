/**
 * The three operations of a module: replace, get, delete. Each change counts as a change of the resource that the
 * module belongs to, which gets a new revision and ETag. The event of the change is that of the module.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { MODULES } from '../../resources/definition/manager.ts';
import { type Module, moduleSubject } from '../../resources/definition/module.ts';
import { readOnlyInModule } from '../../resources/definition/read-only.ts';
import type { Fields, Resource } from '../../resources/definition/resource.ts';
import { notFound } from '../errors/errors.ts';
import { camel, withArticle, words } from '../errors/naming.ts';
import { seesSecrets } from '../http/authorization.ts';
import { isUnchanged } from '../http/entity-tags.ts';
import { type Api, operation } from '../http/operation.ts';
import { isSame, memberOf, refuseUnless } from '../http/read-only-members.ts';
import { type Change, changeEvent } from '../store/outbox.ts';
import type { Row } from '../store/repository.ts';
import {
  belongingTo,
  type Family,
  initialFields,
  type SingleCall,
  singleParameters,
  type Work,
  writeLocked,
} from './family.ts';
import type { WriteContext } from './hooks.ts';
import { release } from './managers.ts';
import { getModule, putModule, removeModule, removeModules, type Settings } from './module-store.ts';
import { given } from './operations.ts';
import { dropReferences, pointersOf, referringFields, setReferences } from './references.ts';
import { differing, fieldsViewer, NO_BASE } from './view.ts';

const moduleNames = z.array(z.string());

/** Adds the operations of a module to the family that it belongs to. */
export function mountModule<R extends Resource, F extends Fields>(family: Family<R>, module: Module<F>): void {
  const { resource } = family;
  const showFields = fieldsViewer(module.fields);
  const initial = initialFields(module.fields);
  const referring = referringFields(module.fields);
  family.onRemoval(removeModules);
  if (referring.length > 0) family.onRemoval(dropReferences);

  const subject = `the ${words(module.name)} module of ${withArticle(resource.name)}`;
  const tag = `The \`ETag\` is that of the ${words(resource.name)}.`;
  const nameOf = (verb: string) => camel(`${verb}_${resource.name}_${module.name}`);
  const common = {
    path: `${resource.path}/{id}/${module.name}`,
    params: singleParameters(resource),
    ...belongingTo(resource),
    tagged: true,
  } as const;
  const success = { status: 200, description: 'The module.', schema: module.view } as const;

  const show = (settings: Settings, base: string) => {
    const view: Record<string, unknown> = {};
    showFields(settings, { base, uri: base }, view);
    return view;
  };
  function require<T>(found: T | undefined, id: string): T {
    if (found !== undefined) return found;
    throw notFound(`The ${words(resource.name)} has no ${words(module.name)} module.`, { id, module: module.name });
  }
  const refer = async ({ tx }: WriteContext, row: Row, settings: Settings | undefined) => {
    for (const name of referring) {
      const from = { referrer: resource, referrerId: row.id, field: `${module.name}/${name}` };
      await setReferences(tx, from, settings ? pointersOf(module.fields, name, settings[name]) : []);
    }
  };
  const write = (api: Api, call: SingleCall, work: Work) => writeLocked(api, family, call, work, MODULES);
  /** Writes the resource, with the event of its module; returns the new revision. */
  const touch = async (context: WriteContext, row: Row, before: Settings | undefined, after: Settings | undefined) => {
    const { api, tx } = context;
    const others = moduleNames.parse(row.modules).filter((name) => name !== module.name);
    // Nothing is left to manage.
    if (!after && others.length === 0) await release(tx, { resourceId: row.id, part: MODULES });
    const event = changeEvent(context, moduleSubject(module), {
      kind: kindOf(before, after),
      payload: { id: row.id, ...show(shortened(module, after ?? before ?? {}), api.eventBase) },
      revision: row.revision + 1,
      changedFields: before && after && differing(show(before, NO_BASE), show(after, NO_BASE)),
    });
    const next = { ...row, modules: after ? [...others, module.name].sort() : others };
    return family.rows.update(tx, family.sealed.seal(api.secrets, next, row), event);
  };

  family.add(
    operation({
      ...common,
      method: 'PUT',
      operationId: nameOf('replace'),
      summary: `Replace ${subject}`,
      description:
        'Creates the module or replaces all of it: settings that are left out get their default. The body may repeat what ' +
        `GET shows. ${tag}`,
      body: module.input as z.ZodType<Record<string, unknown>>,
      readOnly: readOnlyInModule(module.fields),
      manages: 'optionally',
      success,
      errors: ['PRECONDITION_FAILED'],
      handle: (call, api) =>
        write(api, call, async (context, row) => {
          const settings = { ...initial, ...given(module.fields, call.body) };
          const before = await getModule(api.secrets, context.tx, row.id, module);
          const body = show(settings, call.base);
          // They may equal the current or the new settings: a module read from another resource may be put here.
          const views = [before && show(before, call.base), body];
          refuseUnless(call.sentBack, ({ path: [name = ''], value }) =>
            views.some((view) => isSame(value, memberOf(view, name), name)),
          );
          if (isDeepStrictEqual(before, settings)) return { body, revision: row.revision };
          await refer(context, row, settings);
          await putModule(api.secrets, context.tx, row.id, module, settings);
          return { body, revision: await touch(context, row, before, settings) };
        }),
    }),
  );
  family.add(
    operation({
      ...common,
      method: 'GET',
      operationId: nameOf('get'),
      summary: `Get ${subject}`,
      description: `Returns the settings of the module, or 404 if there is none. ${tag}`,
      success,
      async handle(call, api) {
        const { id } = call.params;
        const row = family.require(await family.rows.get(api.db, id), id, call);
        const settings = require(await getModule(api.secrets, api.db, id, module), id);
        if (isUnchanged(call.ifNoneMatch, row.revision)) return { status: 304, revision: row.revision };
        const seen = seesSecrets(call.caller) ? settings : shortened(module, settings);
        return { body: show(seen, call.base), revision: row.revision };
      },
    }),
  );
  family.add(
    operation({
      ...common,
      method: 'DELETE',
      operationId: nameOf('delete'),
      summary: `Delete ${subject}`,
      description: 'Deletes the module and its settings. To keep the settings, set `enabled` to false instead.',
      manages: 'optionally',
      success: { status: 204, description: 'Deleted.' },
      errors: ['PRECONDITION_FAILED'],
      handle: (call, api) =>
        write(api, call, async (context, row) => {
          const before = require(await getModule(api.secrets, context.tx, row.id, module), row.id);
          await refer(context, row, undefined);
          await removeModule(context.tx, row.id, module);
          await touch(context, row, before, undefined);
          return {};
        }),
    }),
  );
}

function kindOf(before: Settings | undefined, after: Settings | undefined): Change['kind'] {
  if (!before) return 'created';
  return after ? 'updated' : 'deleted';
}

/** The settings as events show them, and as viewers see them. */
function shortened({ fields }: Module, settings: Settings): Settings {
  const shown = Object.entries(settings).map(([name, value]) => {
    const { sealed, shorten } = fields[name] ?? {};
    return [name, sealed ? (shorten?.(value) ?? null) : value];
  });
  return Object.fromEntries(shown);
}
