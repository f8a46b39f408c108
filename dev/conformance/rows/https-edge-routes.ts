import { httpsEdgeRoute } from '../../../src/resources/https-edge-route.ts';
import { created, del, get, invalid, ok, patch, post, put, type Row, refTo, refused, type Section } from '../row.ts';

const edges = '/edges/https';
const path = `${edges}/{edge.id}/routes`;
const given = { edge: post(edges, {}) };
const least = { match: '/{unique}', match_type: 'path_prefix' };
const address = `${path}/{made.id}`;
const shownEdge = refTo(edges, 'edge');
const made = { ...given, made: post(path, least) };

const matches = (rule: string, match: string): Row => ({
  rule,
  given,
  ask: post(path, { ...least, match }),
  answer: created({ match }),
});
const wrong = (rule: string, match: unknown, reason: RegExp): Row => ({
  rule,
  given,
  ask: post(path, { ...least, match }),
  answer: invalid({ '/match': reason }),
});

const paths: Row[] = [
  matches('The path of a route may contain all characters of paths', "/~a/b;c=d,e:@!$&'()*+/%C3%A9/"),
  wrong('The path of a route has at most 1024 bytes', `/${'x'.repeat(1024)}`, /1024 bytes/),
  wrong('The path of a route must start with a slash', 'api', /starts with "\/"/),
  wrong('The path of a route must not contain dot segments', '/a/../b', /segment/),
  wrong('The path of a route must not contain two slashes in a row', '//a', /"\/\/"/),
  wrong('A prefix of paths has no wildcard', '/shop/*', /needs none, so write "\/shop\/"/),
  {
    rule: 'The path of a route is stored in normal form, so that no two routes have the same',
    given: { edge: post(edges, {}) },
    ask: post(path, { ...least, match: '/%7ea%2fb' }),
    answer: created({ match: '/~a%2Fb' }),
    later: [[post(path, { ...least, match: '/~a%2fb' }), refused('CONFLICT')]],
  },
  {
    rule: 'A route matches an exact path or a prefix',
    given,
    ask: post(path, { match: '/a', match_type: 'exact_path' }),
    answer: created({ match: '/a', match_type: 'exact_path' }),
    later: [
      [post(path, { match: '/a', match_type: 'path_prefix' }), created({ match_type: 'path_prefix' })],
      [
        post(path, { match: '/a', match_type: 'regex' }),
        invalid({ '/match_type': 'must be "exact_path" or "path_prefix"' }),
      ],
    ],
  },
  {
    rule: 'Path and match type of a route can be changed',
    given: made,
    ask: patch(address, { match: '/b', match_type: 'exact_path' }),
    answer: ok({ match: '/b', match_type: 'exact_path' }),
    later: [[patch(address, { match_type: 'path_prefix' }), ok({ match: '/b', match_type: 'path_prefix' })]],
  },
  {
    rule: 'Two edges may have the same route',
    given: { ...made, other: post(edges, {}) },
    ask: post(`${edges}/{other.id}/routes`, least),
    answer: created({ edge: { id: '{other.id}', uri: '{other.uri}' }, match: least.match }),
  },
];

const belonging: Row[] = [
  {
    rule: 'A route shows its edge; the body may repeat the id of the edge, but not name another',
    given: { ...given, other: post(edges, {}) },
    ask: post(path, { ...least, edge_id: '{edge.id}' }),
    answer: created({ edge: shownEdge }),
    later: [[post(path, { ...least, edge_id: '{other.id}' }), invalid({ '/edge_id': /./ })]],
  },
  {
    rule: 'A route can be reached only through its own edge',
    given: { ...made, other: post(edges, {}) },
    ask: get(`${edges}/{other.id}/routes/{made.id}`),
    answer: refused('NOT_FOUND'),
    later: [
      [patch(`${edges}/{other.id}/routes/{made.id}`, {}), refused('NOT_FOUND')],
      [del(`${edges}/{other.id}/routes/{made.id}`), refused('NOT_FOUND')],
      [get(`${edges}/{other.id}/routes`), ok({ routes: [] })],
      [get(address), ok({ id: '{made.id}', edge: shownEdge })],
    ],
  },
  {
    rule: 'A route starts without modules, and lists the names of those that are set in alphabetical order',
    given: {
      ...made,
      oidc: put(`${address}/oidc`, {
        issuer: 'https://accounts.example.com',
        client_id: 'my-id',
        client_secret: 'my-secret',
      }),
      oauth: put(`${address}/oauth`, { provider: { google: {} } }),
    },
    ask: get(address),
    answer: ok({ modules: ['oauth', 'oidc'] }),
    later: [[post(path, { match: '/b', match_type: 'exact_path' }), created({ modules: [] })]],
  },
];

export const httpsEdgeRoutes: Section = {
  title: 'Extension: HTTPS edge routes',
  family: httpsEdgeRoute,
  rows: [...paths, ...belonging],
};
