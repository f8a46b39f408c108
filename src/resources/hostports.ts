/** The hostports of an edge, of either kind. */
import { z } from 'zod';
import { field } from './definition/resource.ts';
import { distinct } from './formats/distinct.ts';
import { hostport } from './formats/hostport.ts';

export const MAX_HOSTPORTS = 100;

export const hostports = field(
  z.array(z.string()).meta({ examples: [['app.example.com:443']] }),
  z.nullable(
    distinct(z.array(hostport).max(MAX_HOSTPORTS, `must have at most ${MAX_HOSTPORTS}`)).meta({
      description:
        'Where the edge listens: hosts with ports. A reserved domain must cover each host, and no two edges can share a hostport.',
    }),
  ),
  'optional',
  true,
  [],
);
