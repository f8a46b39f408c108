import { eventTypes as typesOf } from '../../../src/resources/definition/resource.ts';
import { CERTIFICATE_EVENTS, certificateEventType, EVENT_SUBJECTS } from '../../../src/resources/event-subjects.ts';
import {
  by,
  created,
  del,
  get,
  idOf,
  invalid,
  NOBODY,
  noContent,
  ok,
  patch,
  post,
  put,
  type Row,
  refused,
  type Section,
  TIMESTAMP,
} from '../row.ts';

const OF_CERTIFICATES = Object.keys(CERTIFICATE_EVENTS).map(certificateEventType);
const TYPES = [...EVENT_SUBJECTS.flatMap(({ name }) => Object.values(typesOf(name))), ...OF_CERTIFICATES];

const path = '/event_subscriptions';

const types = (...names: string[]) => names.map((type) => ({ type }));

const rows: Row[] = [
  {
    rule: 'Sources created with the subscription and sources added later do not differ',
    given: {
      made: post(path, { sources: types('ip_policy_created.v0') }),
      added: post(`${path}/{made.id}/sources`, { type: 'ip_policy_updated.v0' }),
    },
    ask: get(`${path}/{made.id}`),
    answer: ok({ sources: types('ip_policy_created.v0', 'ip_policy_updated.v0') }),
    later: [
      [del(`${path}/{made.id}/sources/ip_policy_created.v0`), noContent],
      [patch(`${path}/{made.id}`, { sources: types('user_created.v0') }), ok({ sources: types('user_created.v0') })],
      [get(`${path}/{made.id}/sources/user_created.v0`), ok({ type: 'user_created.v0' })],
      [get(`${path}/{made.id}/sources/ip_policy_updated.v0`), refused('NOT_FOUND')],
    ],
  },
  {
    rule: 'A subscription may have every event type as a source',
    ask: post(path, { sources: types(...TYPES) }),
    answer: created({ sources: types(...TYPES) }),
  },
];

export const events: Section = { title: 'Events', rows };

export const eventTypes: Section = {
  title: 'Extension: event types',
  rows: [
    {
      rule: 'The catalogue has three types for every family and every module, and three for automatic certificates, each with its version and a description; it is not paged',
      ask: get('/event_types'),
      answer: ok({
        event_types: TYPES.map((type) => ({
          type,
          description:
            /^(An?|The) .+ (was (created|updated|deleted|issued|renewed)\.|could not be issued; it is tried again\.)$/,
        })),
        uri: '{base}/event_types',
        next_page_uri: null,
      }),
    },
  ],
};

const LOG = '/events';
const of = (name: string) => `filter[resource_id]={${name}.id}`;
const policy = post('/ip_policies', { description: 'a' });
const changed = { made: policy, changed: patch('/ip_policies/{made.id}', { description: 'b' }) };
const REQUEST = /^[\w-]+$/;

const log: Row[] = [
  {
    rule: 'The events of all changes are listed, newest first, with who made the change, with which key and request',
    given: { made: policy },
    ask: get(`${LOG}?limit=1`),
    answer: ok({
      events: [
        {
          id: idOf('ev'),
          uri: /^{base}\/events\/ev_/,
          type: 'ip_policy_created.v0',
          occurred_at: TIMESTAMP,
          resource_id: '{made.id}',
          principal: '{admin.id}',
          api_key_id: idOf('ak'),
          request_id: REQUEST,
          revision: 1,
          changed_fields: null,
          data: undefined,
        },
      ],
      uri: `{base}${LOG}`,
      next_page_uri: /^{base}\/events\?before_id=ev_\w+&limit=1$/,
    }),
  },
  {
    rule: 'Callers who are not admins see only their own changes, and changes of what they own',
    given: { made: policy, key: post('/api_keys', { owner_id: '{user.id}' }) },
    ask: get(`${LOG}?${of('key')}`, { as: 'user' }),
    answer: ok({ events: [{ type: 'api_key_created.v0', principal: '{admin.id}' }] }),
    later: [
      [get(`${LOG}?${of('made')}`, { as: 'user' }), ok({ events: [] })],
      [get(`${LOG}?${of('key')}`, { as: 'bot' }), ok({ events: [] })],
    ],
  },
  {
    rule: 'An event shows the resource as it was then, without secrets',
    given: { ...changed, list: get(`${LOG}?${of('made')}`) },
    ask: get(`${LOG}/{list.events.1.id}`),
    answer: ok({
      id: '{list.events.1.id}',
      uri: `{base}${LOG}/{list.events.1.id}`,
      type: 'ip_policy_created.v0',
      occurred_at: '{list.events.1.occurred_at}',
      resource_id: '{made.id}',
      principal: '{admin.id}',
      api_key_id: '{list.events.1.api_key_id}',
      request_id: '{list.events.1.request_id}',
      revision: 1,
      changed_fields: null,
      data: { id: '{made.id}', description: 'a' },
    }),
    later: [[get(`${LOG}/ev_${NOBODY}`), refused('NOT_FOUND')]],
  },
  {
    rule: 'The event of an update names the fields that it has changed, and the revision that it gave',
    given: changed,
    ask: get(`${LOG}?${of('made')}&limit=1`),
    answer: ok({ events: [{ type: 'ip_policy_updated.v0', revision: 2, changed_fields: ['description'] }] }),
    later: [
      [put('/ip_policies/{made.id}/rules', { rules: [{ cidr: '10.0.0.0/8', action: 'allow' }] }), ok()],
      [get(`${LOG}?${of('made')}&limit=1`), ok({ events: [{ revision: 3, changed_fields: ['rule_changes'] }] })],
      [del('/ip_policies/{made.id}'), noContent],
      [
        get(`${LOG}?${of('made')}&limit=1`),
        ok({ events: [{ type: 'ip_policy_deleted.v0', revision: 4, changed_fields: null }] }),
      ],
    ],
  },
  {
    rule: 'A change of a module is an event of the module, with the id of its resource and without secrets',
    given: {
      edge: post('/edges/https', {}),
      made: post('/edges/https/{edge.id}/routes', { match: '/', match_type: 'path_prefix' }),
      oidc: put('/edges/https/{edge.id}/routes/{made.id}/oidc', {
        issuer: 'https://accounts.example.com',
        client_id: 'a',
        client_secret: 'hush',
      }),
      list: get(`${LOG}?${of('made')}`),
    },
    ask: get(`${LOG}/{list.events.0.id}`),
    answer: ok({
      type: 'https_edge_route_oidc_created.v0',
      resource_id: '{made.id}',
      revision: 2,
      data: { id: '{made.id}', client_id: 'a', client_secret: '…' },
    }),
  },
  {
    rule: 'The audit log is limited by resource, type, principal, API key, request and changed field, in any combination',
    given: { key: post('/api_keys', {}), ...changed, list: get(`${LOG}?${of('made')}`) },
    ask: get(`${LOG}?filter[type]=ip_policy_updated.v0&filter[principal]={admin.id}&${of('made')}`),
    answer: ok({ events: [{ id: '{list.events.0.id}' }], next_page_uri: null }),
    later: [
      [
        get(`${LOG}?filter[request_id]={list.events.1.request_id}&limit=1`),
        ok({ events: [{ id: '{list.events.1.id}' }] }),
      ],
      [get(`${LOG}?filter[type]=ip_policy_deleted.v0&${of('made')}`), ok({ events: [] })],
      [get(`${LOG}?filter[changed_fields]=description&${of('made')}`), ok({ events: [{ revision: 2 }] })],
      [get(`${LOG}?filter[changed_fields]=metadata&${of('made')}`), ok({ events: [] })],
      [
        get(`${LOG}?filter[changed_fields]=Description`),
        invalid({ '?filter[changed_fields]': /must be the name of a member of `data`/ }),
      ],
      [patch('/ip_policies/{made.id}', { description: 'c' }, by('key')), ok()],
      [get(`${LOG}?filter[api_key_id]={key.id}`), ok({ events: [{ resource_id: '{made.id}', revision: 3 }] })],
      [
        get(`${LOG}?filter[type]=ip_policy_update.v0`),
        invalid({ '?filter[type]': /not an event type; the most similar ones are ip_policy_updated\.v0/ }),
      ],
      [get(`${LOG}?filter[actor]={admin.id}`), invalid({ '?filter[actor]': /known are .*filter\[principal\]/ })],
    ],
  },
  {
    rule: 'Pages and times limit the audit log as every list, and the next page has the same limits',
    given: { ...changed, list: get(`${LOG}?${of('made')}`) },
    ask: get(`${LOG}?${of('made')}&limit=1&created_after=2020-01-01T00:00:00Z`),
    answer: ok({ events: [{ id: '{list.events.0.id}' }], next_page_uri: /&before_id={list.events.0.id}&limit=1$/ }),
    later: [
      [get(`${LOG}?${of('made')}&before_id={list.events.0.id}`), ok({ events: [{ id: '{list.events.1.id}' }] })],
      [get(`${LOG}?${of('made')}&created_before=2020-01-01T00:00:00Z`), ok({ events: [] })],
      [get(`${LOG}?${of('made')}&created_after={list.events.0.occurred_at}`), ok({ events: [] })],
    ],
  },
];

export const auditLog: Section = { title: 'Extension: audit log', rows: log };
