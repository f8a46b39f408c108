/** Which API key the operator has: the bootstrap key, one of its own that is no admin's, or one of the user. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { DATABASE, named, render } from './helm.ts';

const container = z.object({
  env: z.array(
    z.object({
      name: z.string(),
      valueFrom: z.object({ secretKeyRef: z.object({ name: z.string(), key: z.string() }).optional() }).optional(),
    }),
  ),
});
const podSpec = z.object({ containers: z.tuple([container], z.unknown()) });
const deployment = z.object({ spec: z.object({ template: z.object({ spec: podSpec }) }) });
const madeSecret = z.object({ data: z.record(z.string(), z.string()) });

/** The API keys of each program as `Secret: key`, and the Secrets that the chart makes, with the names of their keys. */
async function keys(values: object) {
  const objects = await render(values);
  const programs = [
    ...named(objects, 'Deployment').map((object) => deployment.parse(object).spec.template.spec),
    ...named(objects, 'Pod').map((object) => podSpec.parse(object.spec)),
  ];
  const used = programs.map(({ containers: [{ env }] }) =>
    Object.fromEntries(
      env.flatMap(({ name, valueFrom }) => {
        const from = valueFrom?.secretKeyRef;
        return from && name.endsWith('_API_KEY') ? [[name, `${from.name}: ${from.key}`]] : [];
      }),
    ),
  );
  const made = named(objects, 'Secret').map((object) => [object, madeSecret.parse(object).data] as const);
  return { used, made };
}

const api = { enabled: false };
const OWN = { BOOTSTRAP_API_KEY: 'it-tunnel-operator: bootstrap-api-key' };
const same = (at: string) => [{ TUNNEL_API_KEY: at }, { TUNNEL_API_KEY: at }];
const notAdmin = { apiKey: { admin: false } };
const apiUrl = 'http://api.example.com';
const theirs = 's: operator-api-key';

test.each<[string, object, object[]]>([
  ['by default, the bootstrap key', DATABASE, [OWN, ...same(OWN.BOOTSTRAP_API_KEY)]],
  [
    "if it is no admin's, a key of its own, which the API gets too",
    { ...DATABASE, operator: notAdmin },
    [
      { ...OWN, OPERATOR_API_KEY: 'it-tunnel-operator-operator-key: operator-api-key' },
      ...same('it-tunnel-operator-operator-key: operator-api-key'),
    ],
  ],
  [
    'with a Secret of the user, another key of that Secret',
    { ...DATABASE, secrets: { existingSecret: 's' }, operator: notAdmin },
    [{ BOOTSTRAP_API_KEY: 's: bootstrap-api-key', OPERATOR_API_KEY: theirs }, ...same(theirs)],
  ],
  [
    'the key that the user names',
    { ...DATABASE, operator: { apiKey: { existingSecret: 'k' } } },
    [OWN, ...same('k: api-key')],
  ],
  [
    'in a shard, the key of the release with the API',
    { api, operator: { apiUrl, apiKey: { ...notAdmin.apiKey, existingSecret: 'k' } } },
    same('k: api-key'),
  ],
  [
    'the same from a Secret of the user',
    { api, secrets: { existingSecret: 's' }, operator: { apiUrl, ...notAdmin } },
    same(theirs),
  ],
])('the operator and helm test use, %s', async (_, values, expected) => {
  expect((await keys(values)).used).toEqual(expected);
});

test('its own key is in a Secret of its own, which is made once, and differs from the first', async () => {
  const { made } = await keys({ ...DATABASE, operator: notAdmin });
  const [, own] = made.find(([{ metadata }]) => metadata.name === 'it-tunnel-operator') ?? [];
  const [secret, data] = made.find(([{ metadata }]) => metadata.name === 'it-tunnel-operator-operator-key') ?? [];
  expect(secret?.metadata.annotations).toMatchObject({
    'helm.sh/hook': 'pre-install,pre-upgrade',
    'helm.sh/resource-policy': 'keep',
  });
  expect(Object.keys(data ?? {})).toEqual(['operator-api-key']);
  const [key, first] = [data?.['operator-api-key'], own?.['bootstrap-api-key']].map((text) => atob(text ?? ''));
  expect(key).toMatch(/^tnl_ak_\w{43}$/);
  expect(key).not.toBe(first);
});

test('no Secret is made where the user has one, with the API or without', async () => {
  for (const values of [DATABASE, { api }]) {
    const { made } = await keys({ ...values, secrets: { existingSecret: 's' }, operator: { apiUrl, ...notAdmin } });
    expect(made.flatMap(([, data]) => Object.keys(data))).not.toContain('operator-api-key');
  }
});

test('the API gets it as a file too', async () => {
  const objects = await render({ ...DATABASE, secrets: { mountAsFiles: true }, operator: notAdmin });
  const items = [{ key: 'operator-api-key', path: 'OPERATOR_API_KEY' }];
  const text = JSON.stringify(named(objects, 'Deployment'));
  expect(text).toContain(JSON.stringify({ secret: { items, name: 'it-tunnel-operator-operator-key' } }));
  expect(text).toContain('"OPERATOR_API_KEY_FILE"');
});
