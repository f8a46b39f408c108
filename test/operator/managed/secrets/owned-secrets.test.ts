/** How the Secrets of an object are named, found and released. */
import { describe, expect, test } from 'vitest';
import { SECRET_TYPE } from '../../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { handout } from '../../../../src/operator/managed/declaration/handout.ts';
import type { SecretSpec } from '../../../../src/operator/managed/secrets/content.ts';
import { encode } from '../../../../src/operator/managed/secrets/data.ts';
import { object } from '../../objects.ts';
import { about, type Circumstances, credential, delivering, released, spec, strangers, written } from './delivering.ts';

const apiKey = handout({ name: 'credential' }, { ...about, type: 'apiKey', isOneTime: true });
const bare = written('cred', { type: SECRET_TYPE.apiKey });
test.each<[string, string, Circumstances, Parameters<typeof object>[0]?]>([
  ['with the suffix of its type', 'cred-api-key', {}],
  ['with it, although another object has a Secret of the bare name', 'cred-api-key', { cached: [written()] }],
  ['without, if it has been there without', 'cred', { cached: [bare] }],
  [
    'without, if it was left behind there',
    'cred',
    { cached: [{ ...bare, metadata: { ...bare.metadata, ...released.metadata } }] },
  ],
  ['without, if the status says so', 'cred', {}, { status: { secretName: 'cred' } }],
])('the Secret has the name of its object %s', async (_, expected, circumstances, fields) => {
  const { delivery, to } = await delivering({ secrets: [], of: apiKey, ...circumstances });
  expect(delivery.nameFor(to(fields), spec)).toBe(expected);
});

test.each<[string, boolean, Circumstances, SecretSpec?, KubeObject?]>([
  ['it is in its Secret', true, { cached: [written()] }],
  ['there is no Secret', false, {}],
  ['its Secret was edited', false, { cached: [written('cred', { data: { token: encode('x') } })] }],
  ['there is no resource yet', false, { cached: [written()] }, spec, object({ name: 'cred', uid: 'u1' })],
  ['a second Secret has a former name', false, { cached: [written(), written('old')] }],
  ['the spec names another Secret', false, { cached: [written()] }, { secret: { key: 'token', name: 'new' } }],
])(
  'whether the cache alone shows that a token is held: %s',
  async (_, expected, circumstances, by = spec, of = credential()) => {
    const { delivery, cluster } = await delivering({ secrets: [], ...circumstances });
    const { namespace } = cluster;
    expect(delivery.looksHeld({ ...of, metadata: { ...of.metadata, namespace } }, by)).toBe(expected);
    expect(cluster.asked()).toEqual([]);
  },
);

test('resources with stored tokens are found in all Secrets that the object owns, regardless of its spec', async () => {
  const secrets = [
    written('one', { data: { token: encode('t0ken'), 'credential-id': encode('cr_7') } }),
    written('two'),
    written('edited', { data: { token: encode('x'), 'credential-id': encode('cr_8') } }),
    written('empty', { data: {} }),
    written('other', strangers),
  ];
  const { delivery, to } = await delivering({ secrets });
  expect(await delivery.stored(to())).toEqual(['cr_7', 'cr_1']);
});

describe('when its object is deleted and the resource stays, a Secret', () => {
  const owners = (found: KubeObject | undefined) => [found?.metadata.name, found?.metadata.ownerReferences ?? []];

  test('stays without this owner, but with its other owners', async () => {
    const [own] = written().metadata.ownerReferences ?? [];
    const [other] = strangers.metadata.ownerReferences;
    const shared = { metadata: { ownerReferences: [own, other].filter((owner) => owner !== undefined) } };
    const { delivery, find, to } = await delivering({ secrets: [written(), written('shared', shared)] });
    expect(await delivery.release(to(), ['cr_1'])).toEqual(['cr_1', 'cr_1']);
    expect(owners(await find('cred'))).toEqual(['cred', []]);
    expect(owners(await find('shared'))).toEqual(['shared', [other]]);
  });

  test.each<[string, KubeObject | undefined, Parameters<typeof object>[0], string[]]>([
    ['of another owner does not count', written('cred', strangers), {}, []],
    ['that was released before counts', written('cred', released), {}, ['cr_1']],
    ['under the name in the spec counts', written('s', released), { spec: { secret: { name: 's' } } }, ['cr_1']],
    ['under the default name counts', written('cred', released), { spec: { secret: { name: '' } } }, ['cr_1']],
    ['that is missing does not count', undefined, {}, []],
  ])('%s', async (_, secret, fields, expected) => {
    const { delivery, cluster, to } = await delivering({ secrets: secret ? [secret] : [] });
    expect(await delivery.release(to(fields), ['cr_1'])).toEqual(expected);
    expect(await delivery.release(to(fields), ['cr_9'])).toEqual([]);
    expect(cluster.writes()).toEqual([]);
  });

  test('that has lost the id counts, with an empty id', async () => {
    const { delivery, find, to } = await delivering({ secrets: [written('cred', { data: {} })] });
    expect(await delivery.release(to(), ['cr_1'])).toEqual(['']);
    expect(owners(await find('cred'))).toEqual(['cred', []]);
  });
});
