/**
 * One definition per family. From it come the API's validation and serialisation, the OpenAPI document, the client's
 * types, the event types and the base of the custom resource's schema.
 */
import { z } from 'zod';
import { bytes, lines, oneLine, timestamp, visible } from '../formats/text.ts';
import { idOf } from './id.ts';
import { nullable, withoutNone } from './none.ts';
import type { Samples } from './samples.ts';

/** Whether a create request must, may or must not carry the field. */
export type Presence = 'required' | 'optional' | 'derived';

/** How the field is kept: a column of its own type, a jsonb column, or not at all (a one-time token). */
export type Storage = 'column' | 'jsonb' | 'none';

/** What `show` may need: the prefix of all `uri` members, and the address of the resource. */
export interface Address {
  base: string;
  uri: string;
}

/** A family that others refer to by id. */
export type ReferencedFamily = Pick<Definition<Fields>, 'name' | 'title' | 'prefix' | 'path'> & {
  readonly table: string;
};

export interface Field<
  View extends z.ZodType = z.ZodType,
  Input extends z.ZodType = z.ZodType,
  OnCreate extends Presence = Presence,
  OnUpdate extends boolean = boolean,
> {
  /** As stored and as shown in responses. `z.never()`: not shown; optional: left out while it is null. */
  readonly view: View;
  /** As accepted in requests; may normalise (its output is what is stored). */
  readonly input: Input;
  readonly onCreate: OnCreate;
  readonly onUpdate: OnUpdate;
  /** Stored when a create request leaves the field out, or an update sets it to null. */
  readonly initial: unknown;
  /** When a create request leaves the field out, the family chooses a value instead of `initial`. */
  readonly chosen?: true;
  readonly storage: Storage;
  /** Name in responses if it differs from that in requests: `certificate_id` shows as `certificate`. */
  readonly as?: string;
  /** How the stored value is shown; by default as it is. */
  readonly show?: (stored: unknown, at: Address) => unknown;
  /**
   * Changes without a change of the resource, so what a client has read may be out of date: an update may send back any
   * value that responses can have.
   */
  readonly movesByItself?: true;
  /** In a list of objects: their members that the service sets. */
  readonly setInside?: readonly string[];
  /** Stored sealed. Only for fields of modules, whose events show what `shorten` makes of it, or null. */
  readonly sealed?: true;
  /**
   * The value without its secret parts, or as it is if it has none; of a shortened one, the same. Events and stored
   * responses have it so, and so has the column: the whole value is sealed in the column `sealed_<field>`.
   */
  readonly shorten?: (value: unknown) => unknown;
  /** The families of the stored id or ids. */
  readonly refersTo?: readonly ReferencedFamily[];
  /**
   * No two resources have the same value, or none of those that are equal in the fields `within`. The table has a unique
   * index `<table>_<field>`; a request that breaks it fails with CONFLICT.
   */
  readonly unique?: Unique;
  /** Lists can be limited by it (filter.ts). */
  readonly filterable?: Filterable;
}

export type Unique = true | { readonly within: readonly string[] };

/**
 * What a filter of the field compares: its whole value; one of the texts in a list that cannot change, which are also in
 * the table `<table>_<field>`; or the beginning of a text.
 */
export type Filterable = 'value' | 'element' | 'prefix';

export type Fields = Readonly<Record<string, Field>>;

type Nullable<T extends z.ZodType> = z.ZodNullable<T>;

/** A field that may be left out or null; it shows as null then. */
export function optional<T extends z.ZodType>(schema: T, storage: Storage = 'column') {
  const nullable = z.nullable(schema);
  return field(nullable, nullable, 'optional', true, null, storage);
}

/** A field that every create request must carry; `update: false` makes it immutable. */
export function required<T extends z.ZodType, U extends boolean = true>(
  schema: T,
  options: { update?: U; storage?: Storage } = {},
) {
  return field(schema, schema, 'required', (options.update ?? true) as U, null, options.storage ?? 'column');
}

/** A field that the service sets; a request that carries another value is refused. */
export function derived<T extends z.ZodType>(schema: T, storage: Storage = 'column') {
  return field(schema, z.never(), 'derived', false, null, storage);
}

/** A field of create requests that no response shows, such as a private key. The family stores it itself. */
export function writeOnly<T extends z.ZodType>(schema: T) {
  return field(z.never(), schema, 'required', false, null, 'none');
}

/** Whether responses have the field. */
export const isShown = ({ view }: Field) => !(view instanceof z.ZodNever);

/** A field whose request schema, initial value or presence differ from the usual. */
export function field<V extends z.ZodType, I extends z.ZodType, C extends Presence, U extends boolean>(
  view: V,
  input: I,
  onCreate: C,
  onUpdate: U,
  initial: unknown,
  storage: Storage = 'column',
): Field<V, I, C, U> {
  return { view, input, onCreate, onUpdate, initial, storage };
}

export type CreateShape<F extends Fields> = {
  [K in keyof F as F[K]['onCreate'] extends 'derived' ? never : K]: F[K]['onCreate'] extends 'optional'
    ? z.ZodOptional<z.ZodNullable<F[K]['input']>>
    : F[K]['input'];
};

type UpdateShape<F extends Fields> = {
  [K in keyof F as F[K]['onUpdate'] extends true ? K : never]: z.ZodOptional<F[K]['input']>;
};

export type ShownShape<F extends Fields> = {
  [K in keyof F as F[K]['view'] extends z.ZodNever
    ? never
    : F[K] extends { readonly as: infer As extends string }
      ? As
      : K]: F[K]['view'];
};

type ViewShape<F extends Fields> = { id: z.ZodString; uri: z.ZodURL; created_at: z.ZodISODateTime } & ShownShape<F>;

/** The family that a nested one lives in. The path of the nested one has `{parameter}`; so is a derived field named. */
export interface Parent {
  readonly of: ReferencedFamily & { readonly id: z.ZodString };
  readonly parameter: string;
}

/** `admin`: others get 403. `owner`: others see only their own. `platform`: for admins of the first account; belongs to none. */
export type Access = 'anyone' | 'owner' | 'admin' | 'platform';

export interface Definition<F extends Fields, Name extends string = string> {
  /** Singular, as in event types: `ip_policy`. */
  readonly name: Name;
  /** Schema name in the OpenAPI document: `IPPolicy`. */
  readonly title: string;
  /** Prefix of ids, without the underscore. */
  readonly prefix: string;
  readonly path: string;
  /** Name of the array in list responses, and of the table. */
  readonly collection: string;
  /** Table name when it differs from `collection` (two families may share a collection name). */
  readonly table?: string;
  /** Tag in the OpenAPI document. */
  readonly tag: string;
  readonly description: string;
  readonly fields: F;
  /** Rules between the members of a request. */
  readonly check?: (body: Readonly<Record<string, unknown>>, context: z.RefinementCtx) => void;
  readonly samples: Samples;
  /** Not defined by the contract: its form is our decision. */
  readonly extension?: true;
  /** Who may use the family. Default `anyone`. */
  readonly access?: Access;
  readonly parent?: Parent;
  /** Whether it can be deleted while others refer to it; their references remain. Default false. */
  readonly deletableWhileReferenced?: boolean;
}

export interface Resource<F extends Fields = Fields, Name extends string = string> extends Definition<F, Name> {
  readonly table: string;
  readonly access: Access;
  readonly id: z.ZodString;
  readonly create: z.ZodObject<CreateShape<F>, z.core.$strict>;
  readonly update: z.ZodObject<UpdateShape<F>, z.core.$strict>;
  readonly view: z.ZodObject<ViewShape<F>>;
}

export type Create<R extends Resource> = z.input<R['create']>;
export type Update<R extends Resource> = z.input<R['update']>;
export type View<R extends Resource> = z.output<R['view']>;

/** Declares a family. */
export function resource<const F extends Fields, const Name extends string>(
  definition: Definition<F, Name> & { readonly parent: Parent },
): Resource<F, Name> & { readonly parent: Parent };
export function resource<const F extends Fields, const Name extends string>(
  definition: Definition<F, Name>,
): Resource<F, Name>;
export function resource<const F extends Fields, const Name extends string>(
  definition: Definition<F, Name>,
): Resource<F, Name> {
  const { create, update, view } = membersOf(definition.fields);
  const id = idOf(definition.prefix);
  const { title, check } = definition;
  const request = (members: z.ZodRawShape) => {
    const schema = z.strictObject(members);
    return check ? schema.superRefine(check) : schema;
  };
  // The three shapes are built from a record, which loses the types of its keys.
  const shapes = {
    create: request(create).meta({ id: `${title}Create` }),
    update: request(update).meta({ id: `${title}Update` }),
    view: z
      .object({
        id: id.meta({ description: 'Identifies the resource. The prefix identifies its type.' }),
        uri: z.url().meta({ description: 'Address of the resource.' }),
        created_at: timestamp().meta({ description: 'When the resource was created.' }),
        ...view,
      })
      .meta({ id: title, description: definition.description }),
  } as unknown as Pick<Resource<F, Name>, 'create' | 'update' | 'view'>;
  return { table: definition.collection, access: 'anyone', ...definition, id, ...shapes };
}

/** The members of requests and of responses, from the fields. */
export function membersOf(fields: Fields) {
  const create: Record<string, z.ZodType> = {};
  const update: Record<string, z.ZodType> = {};
  const view: Record<string, z.ZodType> = {};
  for (const [name, spec] of Object.entries(fields)) {
    if (spec.onCreate !== 'derived') {
      const input = spec.onUpdate ? spec.input : immutable(spec.input);
      // On create, null means left out, even where an update does not accept it.
      create[name] = spec.onCreate === 'optional' ? nullable(input).optional() : input;
    }
    if (spec.onUpdate) update[name] = spec.input.optional();
    if (isShown(spec)) view[spec.as ?? name] = describedAs(spec.view, spec.input);
  }
  return { create, update, view };
}

/** The description of a schema or of its value that is not none. */
export const descriptionOf = (schema: z.ZodType) => schema.description ?? withoutNone(schema).description;

/** The schema of responses with the description of the one of requests, unless it has its own. */
function describedAs(view: z.ZodType, input: z.ZodType): z.ZodType {
  const description = descriptionOf(input);
  return description === undefined || descriptionOf(view) !== undefined ? view : view.meta({ description });
}

/** The same schema, described as immutable. */
function immutable(input: z.ZodType): z.ZodType {
  const description = [descriptionOf(input), 'Cannot be changed later.'].filter(Boolean).join(' ');
  return input.meta({ description });
}

/** `description` and `metadata` with the byte limits that most families share. */
export function described(about: string, limits = { description: 255, metadata: 4096 }) {
  return {
    description: description(bytes(limits.description), about),
    metadata: metadata(bytes(limits.metadata)),
  };
}

/** Responses may show what an earlier release accepted. */
export function description(limit: z.ZodString, about: string) {
  const schema = limit.meta({ description: about, examples: ['for the Berlin office'] });
  return { ...optional(oneLine(schema)), view: z.nullable(schema) };
}

export function metadata(limit: z.ZodString) {
  const schema = limit.meta({
    description: 'Arbitrary data for your own use; the service does not interpret it.',
    examples: ['{"team":"platform"}'],
  });
  return { ...optional(lines(schema)), view: z.nullable(schema), filterable: 'prefix' } as const;
}

/** The name of a person or a program. */
export function personName(schema: z.ZodString) {
  return { ...required(visible(oneLine(schema))), view: schema, filterable: 'value' } as const;
}

/** A reference to another resource. */
export const ref = z
  .object({
    id: z.string().meta({ description: 'Id of the resource.' }),
    uri: z.url().meta({ description: 'Address of the resource.' }),
  })
  .meta({ id: 'Ref' });

/** The event types of a family, or of a module (`moduleSubject`). */
export function eventTypes(name: string) {
  return {
    created: `${name}_created.v0`,
    updated: `${name}_updated.v0`,
    deleted: `${name}_deleted.v0`,
  } as const;
}

export type { Nullable };
