/** The rows that both sign-in modules share. */
import type { ModuleFamily } from './module-conventions.ts';
import { invalid, NOBODY, ok, post, put, type Row, refused } from './row.ts';

/** A route of an HTTPS edge, and the path of one that does not exist. */
export const onRoute = {
  owner: '/edges/https/{edge.id}/routes/{route.id}',
  given: {
    edge: post('/edges/https', {}),
    route: post('/edges/https/{edge.id}/routes', { match: '/', match_type: 'path_prefix' }),
  },
  nobody: `/edges/https/{edge.id}/routes/edghtsrt_${NOBODY}`,
};

export const SESSION_DEFAULTS = {
  enabled: true,
  options_passthrough: false,
  cookie_prefix: '',
  inactivity_timeout: 0,
  maximum_duration: 0,
};

export const OTHER_SESSION = {
  enabled: false,
  options_passthrough: true,
  cookie_prefix: 'acme.',
  inactivity_timeout: 3600,
  maximum_duration: 86_400,
};

const UINT32_MAX = 4_294_967_295;

/** Settings of the session; `durations` are those that count seconds. */
export function sessionRows({ name, owner, given, least }: ModuleFamily, durations: readonly string[]): Row[] {
  const module = name === 'oidc' ? 'OIDC' : 'OAuth';
  const address = `${owner}/${name}`;
  const take = (sent: object) => put(address, { ...least, ...sent });
  return [
    {
      rule: `${module} also applies to OPTIONS requests, unless they are let through`,
      given,
      ask: take({}),
      answer: ok({ options_passthrough: false }),
      later: [
        [take({ options_passthrough: true }), ok({ options_passthrough: true })],
        [take({ options_passthrough: false }), ok({ options_passthrough: false })],
        [take({ options_passthrough: 'yes' }), invalid({ '/options_passthrough': /boolean/ })],
      ],
    },
    {
      rule: `The cookie prefix of ${module} has at most 64 characters`,
      given,
      ask: take({ cookie_prefix: 'x'.repeat(64) }),
      answer: ok({ cookie_prefix: 'x'.repeat(64) }),
      later: [[take({ cookie_prefix: 'x'.repeat(65) }), invalid({ '/cookie_prefix': /64/ })]],
    },
    ...durations.map(
      (field): Row => ({
        rule: `The ${field} of ${module} is a number of seconds in 32 bits; 0 if not set`,
        given,
        ask: take({}),
        answer: ok({ [field]: 0 }),
        later: [
          [take({ [field]: 1 }), ok({ [field]: 1 })],
          [take({ [field]: UINT32_MAX }), ok({ [field]: UINT32_MAX })],
          [take({ [field]: UINT32_MAX + 1 }), invalid({ [`/${field}`]: /from 0 to 4294967295/ })],
        ],
      }),
    ),
    {
      rule: `${module} belongs to one route: it cannot be reached through another edge`,
      given: { ...given, other: post('/edges/https', {}), made: put(address, least) },
      ask: put(`/edges/https/{other.id}/routes/{route.id}/${name}`, least),
      answer: refused('NOT_FOUND'),
    },
  ];
}
