/** Which namespaces may use a connection. */
import { z } from 'zod';
import type { CelRule } from './cel.ts';

/** As the API server has it for its own selectors: `NotIn` nothing would select everything. */
const NEEDS_VALUES: CelRule = {
  rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
  message: 'values must have at least one item for In and NotIn, and none for Exists and DoesNotExist',
};

export const namespaceSelector = z
  .object({
    matchLabels: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'Labels that a namespace must have.' }),
    matchExpressions: z
      .array(
        z
          .object({
            key: z.string().meta({ description: 'Key of a label.' }),
            operator: z
              .enum(['In', 'NotIn', 'Exists', 'DoesNotExist'])
              .meta({ description: 'How the label is compared.' }),
            values: z.array(z.string()).optional().meta({ description: 'Values for In and NotIn.' }),
          })
          .meta({ 'x-cel': [NEEDS_VALUES] }),
      )
      .max(32)
      .optional()
      .meta({ description: 'Conditions that the labels of a namespace must meet.' }),
  })
  .meta({ description: 'The namespaces that may use the connection, by their labels. An empty one selects all.' });
