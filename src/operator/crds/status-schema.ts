/** The part of the status that every kind has: what the reconcile writes, and the conditions. */
import { z } from 'zod';
import { managedStatus } from '../managed/spec.ts';

export const statusShape = {
  id: managedStatus.shape.id.meta({ description: 'Id of the remote resource.' }),
  uri: z.string().optional().meta({ description: 'URI of the remote resource.' }),
  adopted: managedStatus.shape.adopted.meta({ description: 'Id of the resource that was adopted last.' }),
  createGeneration: managedStatus.shape.createGeneration.meta({
    description: 'Copy of the annotation create-generation, in case the annotations are lost.',
  }),
  retiring: managedStatus.shape.retiring.meta({
    description: 'Copy of the annotation retiring, in case the annotations are lost.',
  }),
  sources: managedStatus.shape.sources.meta({
    description:
      'What was read of the Secrets and ConfigMaps that the spec names; digests only the operator can compute.',
  }),
  references: managedStatus.shape.references.meta({
    description: 'The ids that the objects named in the spec stood for.',
  }),
  observedGeneration: z.int().optional().meta({ description: 'The metadata.generation that this status describes.' }),
  lastHandledRotateAt: managedStatus.shape.lastHandledRotateAt.meta({
    description: 'Copy of the annotation rotate-handled-at, in case the annotations are lost.',
  }),
  lastHandledReconcileAt: z
    .string()
    .optional()
    .meta({ description: 'The value of the annotation reconcile-requested-at that was last acted on.' }),
};

export const conditionsSchema = {
  description: 'Ready, Synced and others; see the documentation for their reasons.',
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
    properties: {
      type: {
        description:
          'Ready: the remote resource matches the spec. Synced: how the last reconcile went. ReferencesResolved: whether everything that the spec names is there.',
        type: 'string',
        maxLength: 316,
      },
      status: { description: 'Whether it is so.', type: 'string', enum: ['True', 'False', 'Unknown'] },
      reason: {
        description: 'Why, in one word for programs, such as Available or Rejected.',
        type: 'string',
        maxLength: 1024,
      },
      message: { description: 'Why, for people; names the fields to change.', type: 'string', maxLength: 32768 },
      observedGeneration: {
        description: 'The metadata.generation that the condition describes.',
        type: 'integer',
        format: 'int64',
        minimum: 0,
      },
      lastTransitionTime: { description: 'When the status last changed.', type: 'string', format: 'date-time' },
    },
  },
};
