import { tunnelGroupBackend } from '../../../src/resources/tunnel-group-backend.ts';
import {
  created,
  del,
  get,
  invalid,
  noContent,
  ok,
  patch,
  post,
  put,
  type Row,
  refTo,
  refused,
  type Section,
} from '../row.ts';

const path = '/backends/tunnel_group';
const least = { labels: { app: 'web' } };
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'v']));

const refusedLabels = (rule: string, labels: unknown, at: string, reason: RegExp): Row => ({
  rule,
  given: { made: post(path, least) },
  ask: post(path, { labels }),
  answer: invalid({ [at]: reason }),
  later: [[patch(`${path}/{made.id}`, { labels }), invalid({ [at]: reason })]],
});

export const tunnelGroupBackends: Section = {
  title: 'Extension: tunnel-group backends',
  family: tunnelGroupBackend,
  rows: [
    {
      rule: 'A tunnel-group backend is returned with its labels',
      given: { made: post(path, { labels: { app: 'web', 'example.com/tier': 'a:b_c.D-1' } }) },
      ask: get(`${path}/{made.id}`),
      answer: ok({ labels: { app: 'web', 'example.com/tier': 'a:b_c.D-1' } }),
    },
    {
      rule: 'An update replaces all labels together',
      given: { made: post(path, least) },
      ask: patch(`${path}/{made.id}`, { labels: { team: 'api' } }),
      answer: ok({ labels: { team: 'api', app: undefined } }),
    },
    {
      rule: 'A tunnel-group backend has at most 20 labels',
      ask: post(path, { labels: many(20) }),
      answer: created({ labels: many(20) }),
      later: [[post(path, { labels: many(21) }), invalid({ '/labels': /at most 20/ })]],
    },
    refusedLabels('A tunnel-group backend has at least one label', {}, '/labels', /at least one/),
    refusedLabels('Labels cannot be removed altogether', null, '/labels', /./),
    refusedLabels('The value of a label is no wildcard', { app: '*' }, '/labels/app', /value/),
    refusedLabels('The key of a label is no wildcard', { '*': 'web' }, '/labels/*', /key/),
    refusedLabels('The value of a label is not empty', { app: '' }, '/labels/app', /value/),
    refusedLabels('The value of a label is a text', { app: 1 }, '/labels/app', /must be a string/),
    refusedLabels('Labels have letters, digits and . _ / : -', { 'a b': 'x' }, '/labels/a b', /letters/),
    refusedLabels('The value of a label has at most 255 characters', { app: 'v'.repeat(256) }, '/labels/app', /255/),
    {
      rule: 'A tunnel-group backend that an edge serves cannot be deleted',
      given: {
        made: post(path, least),
        edge: post('/edges/tls', {}),
        served: put('/edges/tls/{edge.id}/backend', { backend_id: '{made.id}' }),
      },
      ask: del(`${path}/{made.id}`),
      answer: refused('RESOURCE_IN_USE', { tls_edge: '{edge.id}' }),
      later: [
        [get('/edges/tls/{edge.id}/backend'), ok({ backend: refTo(path, 'made') })],
        [del('/edges/tls/{edge.id}'), noContent],
        [del(`${path}/{made.id}`), noContent],
      ],
    },
  ],
};
