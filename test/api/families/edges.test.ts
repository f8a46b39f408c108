import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CALLER } from '../../../dev/fixtures/caller.ts';
import { NO_COURIER } from '../../../src/api/events/wire/courier.ts';
import { listening } from '../../../src/api/families/hostports.ts';
import { DEFAULT_PLATFORM } from '../../../src/api/http/platform.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { FIRST_ACCOUNT } from '../../../src/resources/account.ts';
import { newId } from '../../../src/resources/definition/id.ts';
import { tlsEdge } from '../../../src/resources/tls-edge.ts';
import { deadlocks, heldTransaction, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const withId = z.looseObject({ id: z.string(), uri: z.string() });

const reserve = async (domain: string) => (await admin.post('/reserved_domains', { domain })).as(withId).id;
const edge = z.looseObject({ id: z.string(), hostports: z.array(z.string()) });
const create = async (path: string, hostports: string[]) => (await admin.post(path, { hostports })).as(edge);

/** The context of a write, apart from its transaction. */
const writing = {
  api: {
    db: api.db,
    platform: DEFAULT_PLATFORM,
    secrets: createSecrets(undefined),
    eventBase: '',
    courier: NO_COURIER,
  },
  caller: { ...CALLER, id: admin.id },
  requestId: 'r',
};

const app = await reserve('app.example.org');
const wildcard = await reserve('*.example.org');
const international = await reserve('bücher.example.com');

/** Stands for both kinds of edges, which have the same hooks. */
const [path, name, resource] = ['/edges/tls', 'tls_edge', tlsEdge];

describe('an edge', () => {
  test.each([
    ['a.b.example.net', 'reserve a.b.example.net or *.b.example.net'],
    ['*.example.net', 'reserve *.example.net'],
    ['example.net', 'reserve example.net'],
    ['app.tunnels.internal', 'reserve app.tunnels.internal'],
    ['a.b.tunnels.internal', 'reserve a.b.tunnels.internal or *.b.tunnels.internal'],
    ['tunnels.internal', 'it belongs to the service; reserve a name below it, such as app.tunnels.internal'],
    ['x.cname.tunnels.internal', 'it belongs to the service'],
  ])('at %s gets a hint that names only domains that may be reserved', async (host, hint) => {
    const { error } = await admin.post(path, { hostports: [`${host}:443`] });
    expect(error.details['/hostports/0']).toBe(`is not covered by a reserved domain; ${hint}`);
    const domains = hint.startsWith('reserve ') ? hint.slice('reserve '.length).split(' or ') : [];
    for (const domain of domains) await admin.delete(`/reserved_domains/${await reserve(domain)}`);
  });

  test('prevents the deletion of the reserved domain that covers it best', async () => {
    const { id } = await create(path, ['app.example.org:444', 'other.example.org:444', 'bücher.example.com:444']);
    for (const domain of [app, wildcard, international]) {
      const { error } = await admin.delete(`/reserved_domains/${domain}`);
      expect(error).toMatchObject({ error_code: 'RESOURCE_IN_USE', details: { [name]: id } });
    }
    const spare = await reserve('spare.example.org');
    await admin.patch(`${path}/${id}`, { hostports: ['spare.example.org:444'] });
    expect((await admin.delete(`/reserved_domains/${spare}`)).status).toBe(409);
    await admin.patch(`${path}/${id}`, { hostports: [] });
    expect((await admin.delete(`/reserved_domains/${spare}`)).status).toBe(204);
  });

  test('changes its reference to a domain that is reserved later and covers it better', async () => {
    const [wide, deep] = [await reserve('*.later.example.com'), await reserve('*.deep.later.example.com')];
    const { id } = await create(path, ['a.b.later.example.com:443', 'x.deep.later.example.com:443']);
    const near = await reserve('*.b.later.example.com');
    expect((await admin.delete(`/reserved_domains/${wide}`)).status).toBe(204);
    const exact = await reserve('a.b.later.example.com');
    expect((await admin.delete(`/reserved_domains/${near}`)).status).toBe(204);
    for (const domain of [exact, deep]) {
      const { error } = await admin.delete(`/reserved_domains/${domain}`);
      expect(error).toMatchObject({ error_code: 'RESOURCE_IN_USE', details: { [name]: id } });
    }
    await admin.delete(`${path}/${id}`);
    for (const domain of [exact, deep]) expect((await admin.delete(`/reserved_domains/${domain}`)).status).toBe(204);
  });

  test('refers to the best domain, even one reserved while the edge is created, changed or deleted', async () => {
    const wide = await reserve('*.meanwhile.example.com');
    for (let round = 0; round < 12; round++) {
      const names = [1, 2, 3].map((n) => `${n}.of-${round}.meanwhile.example.com`);
      const hostports = names.map((each) => `${each}:443`);
      const going = await create(path, [`4.of-${round}.meanwhile.example.com:443`]);
      const both = [`0.of-${round}.meanwhile.example.com:443`, `5.of-${round}.meanwhile.example.com:443`];
      const moving = await create(path, both);
      const unused = [4, 5].map((n) => `${n}.of-${round}.meanwhile.example.com`);
      const domains = [...names, `*.of-${round}.meanwhile.example.com`, ...unused];
      const [made, ...reserved] = await Promise.all([
        create(path, hostports),
        ...domains.map(reserve),
        admin.delete(`${path}/${going.id}`),
        admin.patch(`${path}/${moving.id}`, { hostports: [`0.of-${round}.meanwhile.example.com:443`] }),
      ]);
      const release = async () => {
        const replies = domains.map((_, n) => admin.delete(`/reserved_domains/${reserved[n]}`));
        return (await Promise.all(replies)).map(({ status }) => status);
      };
      expect(await release()).toEqual([409, 409, 409, 409, 204, 204]);
      for (const { id } of [made, moving]) await admin.delete(`${path}/${id}`);
      expect(await release()).toEqual([204, 204, 204, 204, 404, 404]);
    }
    expect((await admin.delete(`/reserved_domains/${wide}`)).status).toBe(204);
    expect(await deadlocks(api, 10)).toBe(0);
  });

  test('refers to the next best domain if the best one is being deleted', async () => {
    const [wide, best] = [await reserve('*.ending.example.com'), await reserve('best.ending.example.com')];
    const deleting = await heldTransaction(api.databaseUrl);
    await deleting.query('delete from reserved_domains where id = $1', [best]);
    const creating = admin.post(path, { hostports: ['best.ending.example.com:443'] });
    await untilWaiting(api, 1);
    await deleting.commit();
    const made = await creating;
    expect(made.status).toBe(201);
    const { error } = await admin.delete(`/reserved_domains/${wide}`);
    expect(error.error_code).toBe('RESOURCE_IN_USE');
    await admin.delete(`${path}/${made.as(edge).id}`);
    expect((await admin.delete(`/reserved_domains/${wide}`)).status).toBe(204);
  });

  test('gets a hostport alone when many claim it at once', async () => {
    const hostports = ['race.example.org:443', 'race2.example.org:443'];
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, n) => admin.post(path, { hostports: n % 2 ? hostports : hostports.toReversed() })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
    const won = replies.find(({ status }) => status === 201)?.as(edge).id;
    await admin.delete(`${path}/${won}`);
  });

  test('does not share a hostport with an edge that is deleted during the claim', async () => {
    const hostports = ['going.example.org:443'];
    const first = await create(path, hostports);
    const [id, claimed] = [newId(resource.prefix), 'edge_hostports.claim'];
    let deleted: Promise<unknown> = Promise.resolve();
    const claiming = api.db.within(FIRST_ACCOUNT).transaction((tx) => {
      const query: typeof tx.query = async (statement) => {
        const rows = await tx.query(statement);
        if (statement.name !== claimed) return rows;
        deleted = admin.delete(`${path}/${first.id}`);
        await Promise.race([deleted, untilWaiting(api, 1)]);
        return rows;
      };
      return listening(resource).beforeCreate({ ...writing, tx: { query } }, { id, hostports });
    });
    await expect(claiming).rejects.toMatchObject({ code: 'CONFLICT' });
    await deleted;
    expect((await admin.delete(`${path}/${(await create(path, hostports)).id}`)).status).toBe(204);
  });
});
