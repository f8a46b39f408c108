/** Tunnel-group backends (extension): all tunnels that have the given labels. */
import { z } from 'zod';
import { described, required, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { form } from './formats/text.ts';

export const MAX_LABELS = 20;

/** As in the label rules of ACLs, without the wildcard. */
const LABEL = /^[A-Za-z0-9._/:-]{1,255}$/;
const LABEL_RULE = 'must be 1 to 255 letters, digits and . _ / : -';

const labels = z
  .record(z.string(), z.string())
  .superRefine((given, context) => {
    const refuse = (message: string, ...path: string[]) =>
      context.addIssue({ code: 'custom', path, message, input: given });
    const entries = Object.entries(given);
    for (const [key, value] of entries) {
      if (!LABEL.test(key)) refuse(`a label's key ${LABEL_RULE}`, key);
      else if (!LABEL.test(value)) refuse(`a label's value ${LABEL_RULE}`, key);
    }
    if (entries.length === 0) refuse('must have at least one label: without any it would match every tunnel');
    if (entries.length > MAX_LABELS) refuse(`must have at most ${MAX_LABELS} labels, but has ${entries.length}`);
  })
  .meta({
    description: 'Labels of the group. A tunnel belongs to it if it has all of them.',
    examples: [{ app: 'web' }],
    ...form({
      propertyNames: { pattern: LABEL.source, 'x-message': `a label's key ${LABEL_RULE}` },
      additionalProperties: {
        type: 'string',
        pattern: LABEL.source,
        maxLength: 255,
        'x-message': `a label's value ${LABEL_RULE}`,
      },
      minProperties: 1,
      maxProperties: MAX_LABELS,
    }),
  });

const shownLabels = z.record(z.string(), z.string()).meta({ examples: [{ app: 'web' }] });

export const tunnelGroupBackend = resource({
  name: 'tunnel_group_backend',
  title: 'TunnelGroupBackend',
  prefix: 'bkdtg',
  path: '/backends/tunnel_group',
  collection: 'backends',
  table: 'tunnel_group_backends',
  tag: 'Backends',
  extension: true,
  description: 'A backend made up of all tunnels that have the given labels.',
  fields: {
    ...described('Which tunnels the group consists of.'),
    labels: { ...required(labels, { storage: 'jsonb' }), view: shownLabels },
  },
  samples: {
    least: { labels: { app: 'web' } },
    full: { ...DESCRIBED, labels: { app: 'web', team: 'platform' } },
    change: { ...CHANGED, labels: { app: 'web', tier: 'front' } },
  },
});
