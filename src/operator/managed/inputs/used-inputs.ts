/** What a status shows of that which the spec took from elsewhere. */
import { z } from 'zod';

/** What a status shows of one source. */
export const usedSource = z.object({
  field: z.string().meta({ description: 'The member of the spec that names it.' }),
  kind: z.enum(['Secret', 'ConfigMap']).meta({ description: 'Secret or ConfigMap.' }),
  name: z.string().meta({ description: 'Its name.' }),
  resourceVersion: z.string().meta({ description: 'Its metadata.resourceVersion when it was read.' }),
  digest: z.string().meta({ description: 'Digest of the text, which only the operator can compute.' }),
});
export type UsedSource = z.output<typeof usedSource>;

/** What a status shows of one reference: the id that it stood for. */
export const usedReference = z.object({
  field: z.string().meta({ description: 'Path of the reference in the spec.' }),
  id: z.string().meta({ description: 'Id in the management API of what it refers to.' }),
});
export type UsedReference = z.output<typeof usedReference>;

/** What a spec took from elsewhere. */
export interface UsedInputs {
  sources: UsedSource[];
  references: UsedReference[];
}

/** What settings of another resource belong to is their own id, too. */
export const usedIds = z.object({ id: z.string().optional(), references: z.array(usedReference).optional() });
