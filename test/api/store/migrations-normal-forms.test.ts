/** Rows that are not in the normal form that 0022_normal_forms.sql introduces. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { migrate, migrations } from '../../../src/api/store/migrate.ts';
import { ipPolicyRule } from '../../../src/resources/ip-policy-rule.ts';
import { createTestDatabase } from '../../harness.ts';
import { startTestApi } from '../harness.ts';
import { withClient } from './schema/recorded-rows.ts';

const [EDGE, POLICY] = ['edghts_01k9zq3v5hf8svx2r4c6y7n0wd', 'ipp_01k9zq3v5hf8svx2r4c6y7n0wd'];
const id = (prefix: string, n: number) => `${prefix}_01k9zq3v5hf8svx2r4c6y7n0${String(n).padStart(2, '0')}`;

const ROUTES: readonly [match: string, after: string][] = [
  ['/%61dmin', '/admin'],
  ['/~%7e%7E%2d%30', '/~~~-0'],
  ['/a%2fb', '/a%2Fb'],
  ['/%41%2F%c3%a9', '/A%2F%C3%A9'],
  // The older one gets the normal form.
  ['/a%2f%62', '/a%2f%62'],
  ['/c', '/c'],
  ['/%63', '/%63'],
  ['/shop//*', '/shop//*'],
];

const RULES: readonly [cidr: string, after: string][] = [
  ['::ffff:c000:200/120', '192.0.2.0/24'],
  ['::ffff:0:0/96', '0.0.0.0/0'],
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['::ffff:a00:0/104', '::ffff:a00:0/104'],
  ['::ffff:0:0:0/80', '::ffff:0:0:0/80'],
  ['::/0', '::/0'],
];

test('paths and blocks get their normal form unless another row has it', async () => {
  const url = await createTestDatabase();
  const ours = await migrations();
  await migrate(
    url,
    ours.slice(
      0,
      ours.findIndex(({ name }) => name === '0022_normal_forms.sql'),
    ),
  );
  await withClient(url, async (client) => {
    const times = 'created_at, updated_at';
    await client.query(`insert into https_edges (id, hostports, ${times}) values ($1, '{}', now(), now())`, [EDGE]);
    await client.query(`insert into ip_policies (id, ${times}) values ($1, now(), now())`, [POLICY]);
    for (const [n, [match]] of ROUTES.entries()) {
      const text = `insert into https_edge_routes (id, edge_id, match, match_type, modules, ${times}) values ($1, $2, $3, 'path_prefix', '{}', now(), now())`;
      await client.query(text, [id('edghtsrt', n), EDGE, match]);
    }
    for (const [n, [cidr]] of RULES.entries()) {
      const text = `insert into ip_policy_rules (id, ip_policy_id, cidr, action, ${times}) values ($1, $2, $3, 'deny', now(), now())`;
      await client.query(text, [id('ipr', n), POLICY, cidr]);
    }
  });
  await migrate(url);
  const { admin } = await startTestApi({ databaseUrl: url });
  const routes = z.looseObject({ routes: z.array(z.looseObject({ id: z.string(), match: z.string() })) });
  const shown = (await admin.get(`/edges/https/${EDGE}/routes`)).as(routes);
  expect(shown.routes.toReversed().map(({ match }) => match)).toEqual(ROUTES.map(([, after]) => after));
  const rules = z.looseObject({ ip_policy_rules: z.array(ipPolicyRule.view) });
  const blocks = (await admin.get('/ip_policy_rules')).as(rules);
  expect(blocks.ip_policy_rules.toReversed().map(({ cidr }) => cidr)).toEqual(RULES.map(([, after]) => after));
  // What cannot be written any more can be changed in other respects.
  for (const { id } of shown.routes)
    expect((await admin.patch(`/edges/https/${EDGE}/routes/${id}`, { description: 'x' })).status).toBe(200);
  for (const { id } of blocks.ip_policy_rules)
    expect((await admin.patch(`/ip_policy_rules/${id}`, { action: 'allow' })).status).toBe(200);
});
