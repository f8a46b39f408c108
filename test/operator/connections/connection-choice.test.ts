import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  chooseConnection,
  type KnownConnections,
  usedConnection,
} from '../../../src/operator/connections/connection-choice.ts';
import { CONNECTION_KIND } from '../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { Blocked } from '../../../src/operator/managed/declaration/external.ts';
import {
  OPERATORS_OWN,
  type UsedConnection,
  writeConnection,
} from '../../../src/operator/managed/identity/recorded-connection.ts';
import { object } from '../objects.ts';

interface Namespace {
  /** The APIConnections. */
  own?: readonly string[];
  /** The ClusterAPIConnections that select it. */
  selecting?: readonly string[];
  /** The Accounts that select it, and their ids. */
  accounts?: Readonly<Record<string, string | undefined>>;
  /** Those being deleted, as in `APIConnection/default`. */
  leaving?: readonly string[];
  gap?: string;
  isRequired?: boolean;
}

function known(given: Namespace): KnownConnections {
  const { own = [], selecting = [], accounts = {}, leaving = [], gap, isRequired = false } = given;
  const names = { APIConnection: own, ClusterAPIConnection: selecting, Account: Object.keys(accounts) };
  return {
    permits: ({ kind, name }) => names[kind].includes(name),
    isLeaving: (connection) => leaving.includes(writeConnection(connection)),
    selecting: () => [
      ...selecting.map((name) => ({ kind: CONNECTION_KIND.shared, name })),
      ...names.Account.map((name) => ({ kind: CONNECTION_KIND.account, name })),
    ],
    accountOf: ({ kind, name }) => (kind === CONNECTION_KIND.account ? accounts[name] : undefined),
    gap: () => gap,
    isRequired,
  };
}

const textOf = (chosen: UsedConnection) => (chosen === OPERATORS_OWN ? chosen : writeConnection(chosen));

/** As in `APIConnection/default`, or the reason why there is none. */
function choose(given: KubeObject, namespace: Namespace): string {
  try {
    return textOf(chooseConnection(given, known(namespace)));
  } catch (error) {
    if (error instanceof Blocked) return `${error.reason}: ${error.message}`;
    throw error;
  }
}

const OWN = 'APIConnection/default';
const GAP = { gap: 'not listed yet' };
const plain = object();
const naming = object({ spec: { connectionRef: { name: 'a' } } });
const namingShared = object({ spec: { connectionRef: { kind: 'ClusterAPIConnection', name: 's' }, rules: 'invalid' } });
const made = object({ status: { id: 'x', connection: OWN } });
const madeShared = object({ status: { id: 'x', connection: 'ClusterAPIConnection/s' } });
const madeByOperator = object({ status: { id: 'x' } });
const begun = object({}, { connection: OWN, createGeneration: '1' });
const namingAccount = object({ spec: { connectionRef: { kind: 'Account', name: 'web' } } });
const inAccount = object({ status: { id: 'x', connection: 'Account/web/acc_1' } });
const begunInAccount = object({ spec: namingAccount.spec }, { connection: 'Account/web/acc_1', createGeneration: '1' });
const begunByOperator = object({}, { createGeneration: '1' });
const claiming = object({}, { createGeneration: '1', externalId: 'x' });
const deleting = (given: KubeObject): KubeObject => ({
  ...given,
  metadata: { ...given.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
});

test.each<[string, KubeObject, Namespace, string]>([
  ['with the key of the operator keeps it', madeByOperator, { own: ['default'], isRequired: true }, 'operator'],
  ['through a connection keeps it', made, { own: ['default', 'a'], selecting: ['s'] }, OWN],
  ['through a connection keeps that while it is deleted', made, { own: ['default'], leaving: [OWN] }, OWN],
  ['through one that is gone has none', made, { selecting: ['s'] }, 'ConnectionNotFound: APIConnection ns/default'],
  ['through one that may be unlisted waits', made, GAP, `ConnectionNotReady: ${OWN} is not known yet: not listed`],
  [
    'through one that does not select its namespace any more has none',
    madeShared,
    { own: ['default'], selecting: ['t'] },
    'ConnectionNotFound: no ClusterAPIConnection s selects namespace ns',
  ],
  ['in an account keeps it', inAccount, { own: ['default'], accounts: { web: 'acc_1' } }, 'Account/web'],
  ['in an account that is not known yet waits for it', inAccount, { accounts: { web: undefined } }, 'Account/web'],
  [
    'in an account that its Account is not any more has none',
    inAccount,
    { accounts: { web: 'acc_2' } },
    'ConnectionNotFound: what was created for this object belongs to acc_1, but Account/web is acc_2 now',
  ],
])('an object created %s', (_, given, namespace, expected) => {
  expect(choose(given, namespace)).toContain(expected);
});

test.each<[string, KubeObject, Namespace, string]>([
  ['that its spec names', naming, { own: ['default', 'a'] }, 'APIConnection/a'],
  ['that its otherwise invalid spec names', namingShared, { selecting: ['s'] }, 'ClusterAPIConnection/s'],
  ['that is missing', naming, { own: ['default'] }, 'ConnectionNotFound: APIConnection ns/a does not exist'],
  ['that is not listed', naming, GAP, 'ConnectionNotReady: APIConnection/a is not known yet: not listed yet'],
  ['that is leaving', naming, { own: ['a'], leaving: ['APIConnection/a'] }, 'ConnectionNotReady: APIConnection/a'],
  ['that it was begun with', begun, { own: ['default'], leaving: [OWN], selecting: ['s'] }, OWN],
  ['begun with, now gone', begun, { selecting: ['s'] }, 'ConnectionNotFound: APIConnection ns/default does not exist'],
  ['named default', plain, { own: ['default', 'a'], selecting: ['s', 't'] }, OWN],
  ['named default though another may be unlisted', plain, { own: ['default'], ...GAP }, OWN],
  ['named default, leaving', plain, { own: ['default'], leaving: [OWN] }, `ConnectionNotReady: ${OWN} is being`],
  ['that selects its namespace', plain, { own: ['a'], selecting: ['s'] }, 'ClusterAPIConnection/s'],
  ['out of several', plain, { selecting: ['s', 't'] }, 'ConnectionNotFound: several connections select'],
  ['while some may be unlisted', plain, { selecting: ['s'], ...GAP }, 'ConnectionNotReady: whether there is'],
  ['that is the Account of its namespace', plain, { accounts: { web: 'acc_1' } }, 'Account/web'],
  ['out of an Account and another', plain, { selecting: ['s'], accounts: { web: 'acc_1' } }, '/s, Account/web)'],
  ['that is an Account elsewhere', namingAccount, { accounts: { shop: 'acc_1' } }, 'NotFound: no Account web selects'],
  ['that it names, begun in another account', begunInAccount, { accounts: { web: 'acc_2' } }, 'NotFound: what was'],
  ['of the operator', plain, { own: ['a'] }, 'operator'],
  ['of the operator, if refused', plain, { isRequired: true }, 'ConnectionNotFound: no connection to the management'],
  ['of the operator that it was begun with', begunByOperator, {}, 'operator'],
  ['of the operator, being deleted', deleting(begunByOperator), { own: ['default'] }, 'operator'],
  ['of the operator, being deleted, of several', deleting(begunByOperator), { selecting: ['s', 't'] }, 'operator'],
  ['other than it says, being deleted', deleting(claiming), { own: ['default'] }, 'NotFound: a resource was begun'],
  ['other than begun with', begunByOperator, { own: ['default'] }, 'ConnectionNotFound: a resource was begun'],
  ['other than begun with, shared', begunByOperator, { selecting: ['s'] }, 'ConnectionNotFound: a resource was begun'],
])('a new object gets, or is refused, a connection %s', (_, given, namespace, expected) => {
  expect(choose(given, namespace)).toContain(expected);
});

const someOf = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const names = fc.uniqueArray(fc.constantFrom('default', 'a', 's'));
const records = fc.constantFrom(
  OWN,
  'APIConnection/a',
  'ClusterAPIConnection/s',
  'Account/web/acc_1',
  'APIConnection/',
  'operator',
  '',
  '/',
);
const namespaces: fc.Arbitrary<Namespace> = fc
  .record({
    own: names,
    selecting: names,
    leaving: fc.uniqueArray(records),
    isRequired: fc.boolean(),
    gap: fc.boolean(),
  })
  .map(({ gap, ...rest }) => ({ ...rest, ...(gap && GAP) }));
const specs = fc.constantFrom({}, naming.spec, namingShared.spec, { connectionRef: 'invalid' });
const annotations = fc
  .record({
    connection: someOf(fc.oneof(records, fc.string())),
    createGeneration: someOf(fc.constantFrom('1', '-1', 'x')),
    externalId: someOf(fc.constantFrom('x', '')),
    adopt: someOf(fc.constant('x')),
  })
  .map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));

test('annotations never give an object without a status the key of the operator, unless it is deleted', () => {
  const property = fc.property(namespaces, specs, annotations, (namespace, spec, annotated) => {
    const chosen = choose(object({ spec }, annotated), namespace);
    if (chosen === OPERATORS_OWN) expect(choose(object({ spec }), namespace)).toBe(OPERATORS_OWN);
  });
  fc.assert(property, { numRuns: 2_000 });
});

test('the connection that was recorded is chosen again, whatever the namespace has by then', () => {
  const property = fc.property(namespaces, namespaces, specs, (before, after, spec) => {
    const chosen = choose(object({ spec }), before);
    fc.pre(!chosen.includes(':'));
    const record = chosen === OPERATORS_OWN ? {} : { connection: chosen };
    const annotated = object({ spec }, { ...record, createGeneration: '1' });
    const shown = object({ spec, status: { id: 'x', ...record } });
    expect([annotated, shown].map((each) => choose(each, before))).toEqual([chosen, chosen]);
    for (const each of [annotated, shown]) {
      const later = choose(each, after);
      expect(later === chosen || later.includes(':')).toBe(true);
    }
  });
  fc.assert(property, { numRuns: 2_000 });
});

test('an object for which something was begun holds the connection in its spec, whatever became of its annotation', () => {
  const spec = { connectionRef: { name: 'a' } };
  expect(usedConnection(object({ spec }))).toBeUndefined();
  expect(usedConnection(object({ spec }, { createGeneration: '1' }))).toEqual({ kind: CONNECTION_KIND.own, name: 'a' });
  expect(usedConnection(object({ spec: {} }, { createGeneration: '1' }))).toBe(OPERATORS_OWN);
});
