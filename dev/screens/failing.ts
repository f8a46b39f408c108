/** Turns an object that becomes Ready into one that does not. */
import { z } from 'zod';

export const manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), annotations: z.record(z.string(), z.string()).optional() }),
  spec: z.unknown().optional(),
});
export type Manifest = z.output<typeof manifest>;

const named = z.looseObject({ name: z.string() });

/** Refers to missing objects; an object without references adopts a resource that does not exist. */
export function failing(example: Manifest, adopt: { annotation: string; id: string }): Manifest {
  let isReferring = false;
  const withoutTargets = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map((each) => withoutTargets(each, key));
    if (typeof value !== 'object' || value === null) return value;
    const target = /Refs?$/.test(key) ? named.safeParse(value).data : undefined;
    if (target) {
      isReferring = true;
      return { ...target, name: 'missing' };
    }
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutTargets(member, name)]));
  };
  const spec = withoutTargets(example.spec ?? {}, 'spec');
  const annotations = isReferring ? {} : { [adopt.annotation]: adopt.id };
  return { ...example, metadata: { name: 'broken', annotations }, spec };
}
