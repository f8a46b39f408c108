/** How references and sources are written in a spec. */
import { z } from 'zod';
import { idOf } from '../../../resources/definition/id.ts';
import { dataKeyRules, namespaceRules, objectNameRules } from './cel.ts';
import { Reference, Source } from './input.ts';

/** What may be referred to: the family's title is the name of its kind. */
export interface ReferenceTarget {
  readonly title: string;
  readonly prefix: string;
  /** The schema of its ids, where it is not the family's. */
  readonly id?: z.ZodType<string>;
}

const objectName = z.string().min(1).max(253);

/** An object of one of the kinds, by name, or a resource that is not in the cluster, by id. */
export function refTo(
  targets: readonly ReferenceTarget[],
  description: string,
  { isImmutable = false } = {},
): z.ZodType<Reference | string> {
  const titles = targets.map(({ title }) => title);
  const [only] = titles.length === 1 ? titles : [];
  const what = titles.join(' or ');
  const kind = z
    .enum(titles)
    .optional()
    .meta({ description: `Kind of the object: ${what}. Required with name.` });
  const members = {
    name: objectName.optional().meta({ description: `Name of the ${what}.`, 'x-cel': objectNameRules }),
    namespace: z.string().min(1).max(63).optional().meta({
      description:
        'Namespace of the object. Defaults to that of this object. A ReferenceGrant in the other namespace must permit the reference.',
      'x-cel': namespaceRules,
    }),
    id: idSchema(targets).optional().meta({
      maxLength: 80,
      description: 'Id in the management API, for a resource without an object in the cluster.',
    }),
  };
  const schema = only === undefined ? z.strictObject({ kind, ...members }) : z.strictObject(members);
  return schema
    .transform((given, context): Reference | string => {
      const { name, namespace, id } = given;
      const named = only ?? ('kind' in given && typeof given.kind === 'string' ? given.kind : undefined);
      if (id !== undefined && name === undefined) return id;
      if (name !== undefined && id === undefined && named !== undefined)
        return new Reference({ kind: named, name, namespace, isImmutable });
      context.addIssue({ code: 'custom', message: `must name a ${what}, or have an id`, input: undefined });
      return z.NEVER;
    })
    .meta({ description, 'x-cel': referenceRules(only === undefined) });
}

function idSchema(targets: readonly ReferenceTarget[]): z.ZodType<string> {
  const [own] = targets.length === 1 ? targets.map(({ id }) => id) : [];
  return own ?? idOf(...targets.map(({ prefix }) => prefix));
}

function referenceRules(hasKind: boolean) {
  return [
    { rule: 'has(self.name) != has(self.id)', message: 'exactly one of name and id must be set' },
    // A reserved word of CEL: Kubernetes 1.31 refuses it without the underscores.
    {
      rule: '!has(self.__namespace__) || has(self.name)',
      message: 'namespace goes with name',
      fieldPath: '.namespace',
    },
    ...(hasKind ? [{ rule: 'has(self.kind) == has(self.name)', message: 'kind and name go together' }] : []),
  ];
}

const keyRef = (what: string) =>
  z
    .strictObject({
      name: objectName.meta({ description: `Name of the ${what}.`, 'x-cel': objectNameRules }),
      key: z
        .string()
        .min(1)
        .max(253)
        .meta({ description: `Key in the ${what}.`, 'x-cel': dataKeyRules }),
    })
    .optional()
    .meta({ description: `A key of a ${what} in the namespace of this object. The operator follows its changes.` });

/** Text that is given inline, or taken from a Secret or ConfigMap. */
export function sourceOf(schema: z.ZodType): z.ZodType<Source | string> {
  const description = schema.meta()?.description;
  return z
    .strictObject({
      value: schema.optional().meta({ ...schema.meta(), description: 'The text itself.' }),
      secretKeyRef: keyRef('Secret'),
      configMapKeyRef: keyRef('ConfigMap'),
    })
    .transform((given, context): Source | string => {
      const { secretKeyRef, configMapKeyRef } = given;
      const value = 'value' in given ? given.value : undefined;
      const all = [value, secretKeyRef, configMapKeyRef].filter((each) => each !== undefined);
      if (all.length === 1) {
        if (secretKeyRef) return new Source({ kind: 'Secret', ...secretKeyRef }, schema);
        if (configMapKeyRef) return new Source({ kind: 'ConfigMap', ...configMapKeyRef }, schema);
        return String(value);
      }
      const message = 'must have exactly one of value, secretKeyRef and configMapKeyRef';
      context.addIssue({ code: 'custom', message, input: undefined });
      return z.NEVER;
    })
    .meta({
      ...(description === undefined ? {} : { description }),
      'x-cel': [
        {
          rule: '[has(self.value), has(self.secretKeyRef), has(self.configMapKeyRef)].filter(given, given).size() == 1',
          message: 'exactly one of value, secretKeyRef and configMapKeyRef must be set',
        },
      ],
    });
}

/** A `kubernetes.io/tls` Secret by its name alone; every one of its keys is read. */
export function tlsSecretRef<Key extends string>(keys: Readonly<Record<Key, z.ZodType>>) {
  return z
    .strictObject({ name: objectName.meta({ description: 'Name of the Secret.', 'x-cel': objectNameRules }) })
    .transform(({ name }) => {
      const sources = Object.entries<z.ZodType>(keys).map(([key, schema]) => [
        key,
        new Source({ kind: 'Secret', name, key }, schema),
      ]);
      // Object.fromEntries loses which keys there are.
      return Object.fromEntries(sources) as Record<Key, Source | string>;
    })
    .meta({
      description: `A Secret of type kubernetes.io/tls in the namespace of this object, with ${Object.keys(keys).join(' and ')}. The operator follows its changes.`,
    });
}
