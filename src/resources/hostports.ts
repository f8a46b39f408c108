/** The hostports of an edge, of either kind. */
import { z } from 'zod';
import { field } from './definition/resource.ts';
import { distinct } from './formats/distinct.ts';
import { hostport } from './formats/hostport.ts';

export const MAX_HOSTPORTS = 100;

const shown = z.array(z.string()).meta({ examples: [['app.example.com:443']] });

/** The hostports of an edge; each must be covered by a reserved domain, and belong to no other edge. */
export const hostports = field(
  shown.meta({ description: 'Where the edge listens.', examples: [['app.example.com:443']] }),
  z.nullable(
    distinct(z.array(hostport).max(MAX_HOSTPORTS, `must have at most ${MAX_HOSTPORTS}`)).meta({
      description: 'Each must be covered by a reserved domain and belong to no other edge.',
    }),
  ),
  'optional',
  true,
  [],
);
