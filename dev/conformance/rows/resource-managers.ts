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
  refused,
  type Section,
  TIMESTAMP,
} from '../row.ts';

const id = (object: string) => `cluster-1/${object}`;
const manager = (object: string) => ({
  id: id(object),
  cluster: 'cluster-1',
  namespace: 'shop',
  kind: 'IPPolicy',
  name: object,
});
const inTheNameOf = (object: string) => {
  const { namespace, kind, name } = manager(object);
  return { headers: { 'resource-manager': `${id(object)}; namespace=${namespace}; kind=${kind}; name=${name}` } };
};
const record = (object: string, path: string) => ({ uri: `{base}${path}`, ...manager(object), since: TIMESTAMP });
const managedBy = (object: string) => {
  const details = Object.entries(manager(object)).map(([name, value]) => [`manager_${name}`, value]);
  return refused('CONFLICT', Object.fromEntries(details));
};

const POLICY = '/ip_policies/{policy.id}';
const MANAGER = '/resource_managers/{policy.id}';
const made = { policy: post('/ip_policies', {}, inTheNameOf('one')) };
const unmanaged = { policy: post('/ip_policies', {}) };
const noRecord = refused('NOT_FOUND', { resource_id: '{policy.id}' });
const claiming = (object: string, body: object = {}) => put(MANAGER, body, inTheNameOf(object));

const EDGE = '/edges/tls/{edge.id}';
const MODULE_MANAGER = '/resource_managers/{edge.id}/modules';
const edge = { policy: post('/ip_policies', {}), edge: post('/edges/tls', {}, inTheNameOf('one')) };
const restriction = put(`${EDGE}/ip_restriction`, { ip_policy_ids: ['{policy.id}'] }, inTheNameOf('two'));

const malformed = (rule: string, header: string): Row => ({
  rule,
  ask: post('/ip_policies', {}, { headers: { 'resource-manager': header } }),
  answer: invalid({ 'Resource-Manager': /must have the form/ }),
});

export const resourceManagers: Section = {
  title: 'Extension: resource managers',
  rows: [
    {
      rule: 'A create that names a manager records it',
      given: made,
      ask: get(MANAGER),
      answer: ok(record('one', MANAGER)),
    },
    {
      rule: 'A change in the name of another manager is refused, and names the recorded one',
      given: made,
      ask: patch(POLICY, { description: 'by two' }, inTheNameOf('two')),
      answer: managedBy('one'),
      later: [[get(POLICY), ok({ description: null })]],
    },
    {
      rule: 'A deletion in the name of another manager is refused',
      given: made,
      ask: del(POLICY, inTheNameOf('two')),
      answer: managedBy('one'),
      later: [
        [get(POLICY), ok()],
        [del(POLICY, inTheNameOf('one')), noContent],
      ],
    },
    {
      rule: 'A change of a part of the resource is refused as well',
      given: made,
      ask: put(`${POLICY}/rules`, { rules: [] }, inTheNameOf('two')),
      answer: managedBy('one'),
    },
    {
      rule: 'A request that names no manager is not checked',
      given: made,
      ask: patch(POLICY, { description: 'by hand' }),
      answer: ok({ description: 'by hand' }),
      later: [[del(POLICY), noContent]],
    },
    {
      rule: 'The first change in the name of a manager records it',
      given: unmanaged,
      ask: patch(POLICY, { description: 'by one' }, inTheNameOf('one')),
      answer: ok({ description: 'by one' }),
      later: [[get(MANAGER), ok(record('one', MANAGER))]],
    },
    {
      rule: 'A repeated create records its manager if none is',
      given: { policy: post('/ip_policies', {}, { headers: { 'idempotency-key': 'managed-later' } }) },
      ask: post('/ip_policies', {}, { headers: { 'idempotency-key': 'managed-later', ...inTheNameOf('one').headers } }),
      answer: created({ id: '{policy.id}' }),
      later: [[get(MANAGER), ok(record('one', MANAGER))]],
    },
    {
      rule: 'A claim records the manager of a resource that has none',
      given: unmanaged,
      ask: claiming('one'),
      answer: ok(record('one', MANAGER)),
      later: [[claiming('one'), ok(record('one', MANAGER))]],
    },
    {
      rule: 'A claim is refused while another manager is recorded',
      given: made,
      ask: claiming('two'),
      answer: managedBy('one'),
      later: [[claiming('two', { take_over_from: id('three') }), managedBy('one')]],
    },
    {
      rule: 'A claim that names the recorded manager takes the resource over',
      given: made,
      ask: claiming('two', { take_over_from: id('one') }),
      answer: ok(record('two', MANAGER)),
      later: [[patch(POLICY, { description: 'by one' }, inTheNameOf('one')), managedBy('two')]],
    },
    {
      rule: 'A release lets another manager claim the resource',
      given: made,
      ask: del(MANAGER, inTheNameOf('one')),
      answer: noContent,
      later: [
        [get(MANAGER), noRecord],
        [del(MANAGER), noContent],
        [claiming('two'), ok(record('two', MANAGER))],
      ],
    },
    {
      rule: 'A release in the name of another manager is refused; one that names none is not',
      given: made,
      ask: del(MANAGER, inTheNameOf('two')),
      answer: managedBy('one'),
      later: [
        [get(MANAGER), ok(record('one', MANAGER))],
        [del(MANAGER), noContent],
      ],
    },
    {
      rule: 'The record goes with its resource',
      given: { ...made, gone: del(POLICY) },
      ask: get(MANAGER),
      answer: noRecord,
      later: [[claiming('one'), refused('NOT_FOUND')]],
    },
    {
      rule: 'The modules of a resource have a manager of their own',
      given: { ...edge, module: restriction },
      ask: get(MODULE_MANAGER),
      answer: ok(record('two', MODULE_MANAGER)),
      later: [
        [del(`${EDGE}/ip_restriction`, inTheNameOf('one')), managedBy('two')],
        [put(MODULE_MANAGER, {}, inTheNameOf('one')), managedBy('two')],
      ],
    },
    {
      rule: 'The modules of a resource can be claimed and taken over',
      given: { ...edge, module: restriction },
      ask: put(MODULE_MANAGER, { take_over_from: id('two') }, inTheNameOf('one')),
      answer: ok(record('one', MODULE_MANAGER)),
    },
    {
      rule: 'The modules of a resource can be released',
      given: { ...edge, module: restriction },
      ask: del(MODULE_MANAGER, inTheNameOf('two')),
      answer: noContent,
      later: [[del(`${EDGE}/ip_restriction`, inTheNameOf('one')), noContent]],
    },
    {
      rule: 'The record of modules goes with the last module',
      given: { ...edge, module: restriction, gone: del(`${EDGE}/ip_restriction`) },
      ask: get(MODULE_MANAGER),
      answer: refused('NOT_FOUND', { resource_id: '{edge.id}' }),
    },
    {
      rule: "Another owner's resource cannot be claimed",
      given: { policy: post('/credentials', {}) },
      ask: { ...claiming('one'), as: 'user' },
      answer: refused('NOT_FOUND'),
    },
    {
      rule: 'Only admins may claim what only admins may change',
      given: { policy: post('/bot_users', { name: 'a bot' }) },
      ask: { ...claiming('one'), as: 'user' },
      answer: refused('PERMISSION_DENIED'),
    },
    {
      rule: 'A claim must name a manager',
      given: unmanaged,
      ask: put(MANAGER, {}),
      answer: invalid({ 'Resource-Manager': 'is required' }),
    },
    malformed('The header has the ids of a cluster and of an object', 'one; namespace=shop; kind=IPPolicy; name=one'),
    malformed('The header has all its parts', `${id('one')}; namespace=shop; name=one`),
  ],
};
