/** The sources and references of a spec, as the status shows them. */
import { z } from 'zod';

/** One Secret or ConfigMap that the spec refers to. */
export const usedSource = z.object({
  field: z.string().meta({ description: 'Path of the source in the spec.' }),
  kind: z.enum(['Secret', 'ConfigMap']).meta({ description: 'Kind of the source: Secret or ConfigMap.' }),
  name: z.string().meta({ description: 'Name of the Secret or ConfigMap.' }),
  resourceVersion: z
    .string()
    .meta({ description: 'The metadata.resourceVersion of the Secret or ConfigMap when it was read.' }),
  digest: z.string().meta({ description: 'Keyed digest of the text, which does not reveal it.' }),
});
export type UsedSource = z.output<typeof usedSource>;

/** One reference and the id that it was resolved to. */
export const usedReference = z.object({
  field: z.string().meta({ description: 'Path of the reference in the spec.' }),
  id: z.string().meta({ description: 'Id of the referenced resource in the management API.' }),
});
export type UsedReference = z.output<typeof usedReference>;

/** What a spec took from elsewhere. */
export interface UsedInputs {
  sources: UsedSource[];
  references: UsedReference[];
}

/** What settings of another resource belong to is their own id, too. */
export const usedIds = z.object({ id: z.string().optional(), references: z.array(usedReference).optional() });
