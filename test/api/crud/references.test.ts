/** What is said of references that cannot be; what keeps them is tested through the API. */
import { describe, expect, test } from 'vitest';
import {
  dropReferences,
  moveReferences,
  pointersOf,
  referringFields,
  refuseWhileReferenced,
  setReferences,
} from '../../../src/api/crud/references.ts';
import type { ApiError } from '../../../src/api/errors/errors.ts';
import type { Executor } from '../../../src/api/store/database.ts';
import type { Statement } from '../../../src/api/store/statement.ts';
import { eventSubscription } from '../../../src/resources/event-subscription.ts';
import { httpsEdgeRoute } from '../../../src/resources/https-edge-route.ts';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';

test('the fields that refer to others are known', () => {
  expect(referringFields(reservedDomain.fields)).toEqual([
    'certificate_id',
    'http_endpoint_configuration_id',
    'https_endpoint_configuration_id',
  ]);
});

describe('the pointers of a field', () => {
  test.each([
    [
      'a list',
      eventSubscription.fields,
      'destination_ids',
      ['ed_1', 'ed_2'],
      ['/destination_ids/0', '/destination_ids/1'],
    ],
    ['an id', reservedDomain.fields, 'certificate_id', 'cert_1', ['/certificate_id']],
    ['no id', reservedDomain.fields, 'certificate_id', null, []],
  ])('are where its ids are: %s', (_, fields, name, value, places) => {
    expect(pointersOf(fields, name, value).map(({ at }) => at)).toEqual(places);
  });
});

describe('what is referred to', () => {
  const { fields } = httpsEdgeRoute;
  const from = { referrer: httpsEdgeRoute, referrerId: 'edghtsrt_1', field: 'backend_id' };
  /** Of a database in which these are there. */
  function holding(...ids: string[]) {
    const asked: Statement[] = [];
    const query = async (statement: Statement) => {
      asked.push(statement);
      return ids.map((id) => ({ id }));
    };
    return { tx: { query }, asked };
  }
  const pointers = (...ids: string[]) => ids.flatMap((id) => pointersOf(fields, 'backend_id', id));

  test('is asked for once, in the tables of the families that the ids are of', async () => {
    const { tx, asked } = holding('bkdhr_1');
    await setReferences(tx, from, pointers('bkdhr_1', 'bkdhr_1'));
    expect(asked).toHaveLength(1);
    expect(asked[0]?.values).toEqual(['edghtsrt_1', 'backend_id', 'https_edge_route', ['bkdhr_1']]);
    expect(asked[0]?.text).toContain('from http_response_backends');
    expect(asked[0]?.text).not.toContain('tunnel_group_backends');
  });

  test('is asked for in each table that the ids are of', async () => {
    const { tx, asked } = holding('bkdhr_1', 'bkdtg_1');
    await setReferences(tx, from, pointers('bkdhr_1', 'bkdtg_1'));
    expect(asked[0]?.text).toContain('from http_response_backends');
    expect(asked[0]?.text).toContain('from tunnel_group_backends');
  });

  test('is forgotten when nothing is any more', async () => {
    const { tx, asked } = holding();
    await setReferences(tx, from, []);
    expect(asked.map(({ values }) => values)).toEqual([['edghtsrt_1', 'backend_id']]);
  });

  test.each([
    ['bkdhr_2', 'HTTP response backend bkdhr_2 does not exist'],
    ['bkdtg_2', 'tunnel group backend bkdtg_2 does not exist'],
    ['other_2', 'resource other_2 does not exist'],
  ])('must be there, and the log says so without its id: %s', async (id, reason) => {
    const { tx } = holding('bkdhr_1');
    const all = [...pointers('bkdhr_1'), ...pointers(id)];
    const refusal = await setReferences(tx, from, all).catch((error: ApiError) => error);
    expect(refusal).toMatchObject({
      code: 'INVALID_REQUEST',
      details: { '/backend_id': reason },
      fixed: { '/backend_id': 'does not exist' },
    });
  });
});

describe('what others refer to', () => {
  const referredToBy = (...found: object[]) => ({ query: async () => found.map((each) => ({ ...each })) });
  const five = ['ed_5', 'ed_4', 'ed_3', 'ed_2', 'ed_1'];

  test('stays, and the error names them, a few of each family', async () => {
    const tx = referredToBy(
      { referrer: 'event_subscription', ids: five },
      { referrer: 'ip_policy', ids: [...five, 'ed_6'] },
    );
    const named = 'ed_1, ed_2, ed_3, ed_4, ed_5';
    await expect(refuseWhileReferenced(tx, 'x_1')).rejects.toMatchObject({
      code: 'RESOURCE_IN_USE',
      message: `Still in use by event subscription ${named} and IP policy ${named}, …; change those first.`,
      details: { event_subscription: named, ip_policy: `${named}, …` },
    });
  });

  test('may go when nobody does any more', async () => {
    expect(await refuseWhileReferenced(referredToBy(), 'x_1')).toBeUndefined();
  });
});

describe('a statement that fails, fails the write:', () => {
  /** Fails at the statement of that number, from 1. */
  const failingAt = (number: number) => {
    let count = 0;
    const query = async () => {
      if (++count === number) throw new Error('lost');
      return [];
    };
    return { query };
  };
  const from = { referrer: httpsEdgeRoute, referrerId: 'edghtsrt_1', field: 'backend_id' };
  const moved = [{ ...from, targetId: 'bkdhr_1' }];

  test.each([
    ['to forget references', 1, (tx: Executor) => setReferences(tx, from, [])],
    ['to leave', 1, (tx: Executor) => moveReferences(tx, 'backend_id', moved)],
    ['to arrive', 2, (tx: Executor) => moveReferences(tx, 'backend_id', moved)],
    ['to drop them', 1, (tx: Executor) => dropReferences(tx, ['edghtsrt_1'])],
  ])('%s', async (_, number, write) => {
    await expect(write(failingAt(number))).rejects.toThrow('lost');
  });
});
