/** Texts that earlier releases accepted: they can be read, and what is beside them can be changed. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { sampleValues } from '../../../dev/fixtures/sample-values.ts';
import { createSample } from '../../../dev/fixtures/samples.ts';
import { botUser } from '../../../src/resources/bot-user.ts';
import type { Resource } from '../../../src/resources/definition/resource.ts';
import { eventSubscription } from '../../../src/resources/event-subscription.ts';
import { httpsEdgeRouteOidc } from '../../../src/resources/https-edge-route-oidc.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const view = z.looseObject({ id: z.string(), uri: z.url() });
const post = async (path: string, body: object) => (await admin.post(path, body)).as(view);
const values = await sampleValues();
let n = 30_000;
const OLD = 'a\u001b[2K\nb\u202e\r';

/** Each kind of text once: those of event subscriptions count characters, all others bytes. */
const TEXTS: readonly (readonly [Resource, string])[] = [
  [ipPolicy, 'description'],
  [ipPolicy, 'metadata'],
  [eventSubscription, 'description'],
  [eventSubscription, 'metadata'],
  [botUser, 'name'],
];

test.each(TEXTS.map(([family, name]) => [`${family.name}.${name}`, family, name] as const))(
  'a stored text of %s can be read, and kept while others change',
  async (_, family, name) => {
    const { path, made } = await createSample(post, family, 'least', n++, values);
    await api.rows(`update ${family.table} set ${name} = $1 where id = $2`, [OLD, made.id]);
    const address = `${path}/${made.id}`;
    const other =
      name === 'description' ? { metadata: 'x' } : name === 'metadata' ? { description: 'x' } : { active: true };
    const reply = await admin.patch(address, other);
    expect(reply.as(family.view)).toMatchObject({ ...other, [name]: OLD });
    expect((await admin.get(address)).as(family.view)).toMatchObject({ [name]: OLD });
    expect((await admin.patch(address, { [name]: OLD })).error.details).toHaveProperty(`/${name}`);
  },
);

test('the stored client id and issuer of a module can be read', async () => {
  const edge = await post('/edges/https', {});
  const route = await post(`/edges/https/${edge.id}/routes`, { match: '/', match_type: 'path_prefix' });
  const address = `/edges/https/${edge.id}/routes/${route.id}/oidc`;
  const issuer = 'https://a.example/.well-known/openid-configuration';
  await admin.put(address, { issuer: 'https://a.example', client_id: 'a', client_secret: 'b' });
  const old = JSON.stringify({ issuer, client_id: 'a\n' });
  await api.rows('update modules set settings = settings || $1::jsonb where owner_id = $2', [old, route.id]);
  expect((await admin.get(address)).as(httpsEdgeRouteOidc.view)).toMatchObject({ issuer, client_id: 'a\n' });
});
