/** The part of the status that every kind has: what the reconcile writes, and the conditions. */
import { z } from 'zod';
import { managedStatus, NOT_OBSERVED } from '../managed/identity/recorded-status.ts';

export const statusShape = {
  id: managedStatus.shape.id.meta({ description: 'Id of the remote resource in the management API.' }),
  uri: z.string().optional().meta({ description: 'URI of the remote resource.' }),
  adopted: managedStatus.shape.adopted.meta({ description: 'Id of the last resource that was adopted.' }),
  connection: managedStatus.shape.connection.meta({
    description:
      "The connection to the management API that this object uses, as in `APIConnection/default`. Absent with the operator's own API key.",
  }),
  createGeneration: managedStatus.shape.createGeneration.meta({
    description: 'Copy of the annotation create-generation, used if the annotations are lost.',
  }),
  retiring: managedStatus.shape.retiring.meta({
    description:
      'Superseded resources that are still to be deleted. Copy of the annotation retiring, used if the annotations are lost.',
  }),
  sources: managedStatus.shape.sources.meta({
    description: 'The Secrets and ConfigMaps that the spec refers to, as last read.',
  }),
  references: managedStatus.shape.references.meta({
    description: 'The ids that the references in the spec were resolved to.',
  }),
  observedGeneration: z
    .int()
    .default(NOT_OBSERVED)
    .meta({ description: 'The metadata.generation that this status is about. -1 if it is about none.' }),
  lastHandledRotateAt: managedStatus.shape.lastHandledRotateAt.meta({
    description: 'Copy of the annotation rotate-handled-at, used if the annotations are lost.',
  }),
  lastHandledReconcileAt: z
    .string()
    .optional()
    .meta({ description: 'Last value of the annotation reconcile-requested-at that the operator has acted on.' }),
};

/** For kinds with columns that show lists. */
export const columnsShape = {
  columns: z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: 'What `kubectl get` shows of lists: their first items.' }),
};

export const conditionsSchema = {
  description: 'Conditions of the object: Ready, Synced and others.',
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
    properties: {
      type: {
        description:
          'Ready: the remote resource matches the spec. Synced: the last reconcile succeeded. ReferencesResolved: everything that the spec refers to exists. Reconciling: not Ready yet. Stalled: not Ready until something is changed.',
        type: 'string',
        maxLength: 316,
      },
      status: { description: 'Whether the condition is met.', type: 'string', enum: ['True', 'False', 'Unknown'] },
      reason: {
        description: 'Reason for the status, in one word for programs, such as Available or Rejected.',
        type: 'string',
        maxLength: 1024,
      },
      message: {
        description: 'Reason for the status, for people. Names the fields to change.',
        type: 'string',
        maxLength: 32768,
      },
      observedGeneration: {
        description: 'The metadata.generation that the condition is about.',
        type: 'integer',
        format: 'int64',
        minimum: 0,
      },
      lastTransitionTime: {
        description: 'When the status of the condition last changed.',
        type: 'string',
        format: 'date-time',
      },
    },
  },
};
