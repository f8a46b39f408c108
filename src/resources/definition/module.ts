/** Modules: settings that belong to a resource and have no id. A PUT replaces all of them at once. */
import { z } from 'zod';
import { type CreateShape, type Fields, field, membersOf, type Resource, type ShownShape } from './resource.ts';

export interface ModuleDefinition<F extends Fields, Name extends string = string> {
  /** Last segment of its path: `ip_restriction`. */
  readonly name: Name;
  /** Schema name in the OpenAPI document. */
  readonly title: string;
  readonly description: string;
  /** The family whose resources it belongs to. */
  readonly of: Resource;
  readonly fields: F;
}

export interface Module<F extends Fields = Fields, Name extends string = string> extends ModuleDefinition<F, Name> {
  /** The whole module as a PUT carries it; settings that are left out get their default. */
  readonly input: z.ZodObject<CreateShape<F>, z.core.$strict>;
  readonly view: z.ZodObject<ShownShape<F>>;
}

/** What changes with a module, in the names of event types: `tls_edge_backend`. */
export const moduleSubject = ({ of, name }: Pick<Module, 'of' | 'name'>) => `${of.name}_${name}`;

/** Declares a module. */
export function module<const F extends Fields, const Name extends string>(
  definition: ModuleDefinition<F, Name>,
): Module<F, Name> {
  const { title, description } = definition;
  const { create, view } = membersOf(definition.fields);
  // Both shapes are built from a record, which loses the types of its keys.
  const shapes = {
    input: z.strictObject(create).meta({ id: `${title}Replace` }),
    view: z.object(view).meta({ id: title, description }),
  } as unknown as Pick<Module<F, Name>, 'input' | 'view'>;
  return { ...definition, ...shapes };
}

/** A setting that defaults to `initial` when left out or null. */
export function setting<T extends z.ZodType>(schema: T, initial: z.output<T>) {
  return field(schema, z.nullable(schema), 'optional', true, initial);
}

/** A text that must be given. Responses may show what an earlier release accepted. */
export function neededText<T extends z.ZodType<string>>(schema: T) {
  const { examples = [] } = schema.meta() ?? {};
  return field(z.string().meta({ examples }), schema, 'required', true, null);
}

/** Every module can be switched off without losing its settings. */
export const enabled = setting(
  z.boolean().meta({ description: 'Whether the module is in effect. Default true.' }),
  true,
);

/** Names of the modules that a resource has. Their settings have paths of their own. */
export const moduleNames = field(
  z
    .array(z.string())
    .meta({ description: 'Names of the modules that are set, in alphabetical order.', examples: [[]] }),
  z.never(),
  'derived',
  false,
  [],
);
