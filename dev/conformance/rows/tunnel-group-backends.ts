import { tunnelGroupBackend } from '../../../src/resources/tunnel-group-backend.ts';
import { created, invalid, ok, patch, post, type Row, type Section } from '../row.ts';

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
    refusedLabels('Labels consist of letters, digits and . _ / : -', { 'a b': 'x' }, '/labels/a b', /letters/),
  ],
};
