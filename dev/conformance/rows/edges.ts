import { httpsEdge } from '../../../src/resources/https-edge.ts';
import { tlsEdge } from '../../../src/resources/tls-edge.ts';
import { edgeRows } from '../edge-rows.ts';
import { del, get, noContent, post, put, refused, type Section } from '../row.ts';

const https = '/edges/https';
const tls = '/edges/tls';

export const httpsEdges: Section = {
  title: 'Extension: HTTPS edges',
  family: httpsEdge,
  rows: [
    ...edgeRows({
      one: 'an HTTPS edge',
      name: 'https_edge',
      path: https,
      otherPath: tls,
    }),
    {
      rule: 'Deleting an HTTPS edge deletes its routes and their modules',
      given: {
        edge: post(https, {}),
        route: post(`${https}/{edge.id}/routes`, { match: '/', match_type: 'path_prefix' }),
        module: put(`${https}/{edge.id}/routes/{route.id}/oauth`, { provider: { google: {} } }),
      },
      ask: del(`${https}/{edge.id}`),
      answer: noContent,
      later: [
        [get(`${https}/{edge.id}/routes/{route.id}`), refused('NOT_FOUND')],
        [get(`${https}/{edge.id}/routes/{route.id}/oauth`), refused('NOT_FOUND')],
        [get(`${https}/{edge.id}/routes`), refused('NOT_FOUND', { edge_id: '{edge.id}' })],
      ],
    },
  ],
};

export const tlsEdges: Section = {
  title: 'Extension: TLS edges',
  family: tlsEdge,
  rows: [
    ...edgeRows({
      one: 'a TLS edge',
      name: 'tls_edge',
      path: tls,
      otherPath: https,
    }),
    {
      rule: 'Deleting a TLS edge deletes its modules and their references',
      given: {
        edge: post(tls, {}),
        ca: post('/certificate_authorities', { ca_pem: '{pem.ca}' }),
        module: put(`${tls}/{edge.id}/mutual_tls`, { certificate_authority_ids: ['{ca.id}'] }),
      },
      ask: del(`${tls}/{edge.id}`),
      answer: noContent,
      later: [
        [get(`${tls}/{edge.id}/mutual_tls`), refused('NOT_FOUND', { id: '{edge.id}' })],
        [del('/certificate_authorities/{ca.id}'), noContent],
      ],
    },
  ],
};
