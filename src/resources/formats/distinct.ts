/** Lists without repetition. */
import type { z } from 'zod';
import { form } from './text.ts';

/** Refuses members that repeat an earlier one, each at its index. */
export function distinct<T extends z.ZodType>(array: z.ZodArray<T>): z.ZodArray<T> {
  return array
    .superRefine((members, context) => {
      members.forEach((member, index) => {
        const first = members.indexOf(member);
        if (first !== index) {
          context.addIssue({ code: 'custom', path: [index], message: `is already at index ${first}`, input: member });
        }
      });
    })
    .meta(form({ uniqueItems: true }));
}
