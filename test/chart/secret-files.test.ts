/** The programs get their secrets as variables, or as files of a volume. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { DATABASE, named, render } from './helm.ts';

const container = z.object({
  env: z.array(z.object({ name: z.string(), value: z.string().optional() })),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })).default([]),
});
const deployment = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        initContainers: z.array(container).default([]),
        containers: z.array(container),
        volumes: z.array(z.looseObject({ name: z.string() })).default([]),
      }),
    }),
  }),
});

const SECRET = /^(DATABASE_URL|BOOTSTRAP_API_KEY|ENCRYPTION_KEY|TUNNEL_API_KEY|OTEL_EXPORTER_OTLP_HEADERS)(_FILE)?$/;

async function pods(values: object) {
  const objects = await render({
    ...DATABASE,
    tracing: { endpoint: 'http://collector:4318', headers: { existingSecret: 'collector' } },
    ...values,
  });
  return named(objects, 'Deployment').map((object) => {
    const { initContainers, containers, volumes } = deployment.parse(object).spec.template.spec;
    const shown = [...initContainers, ...containers].map(({ env, volumeMounts }) => ({
      secrets: env.flatMap(({ name, value }) => (SECRET.test(name) ? `${name}=${value ?? '…'}` : [])),
      mounts: volumeMounts.map(({ name, mountPath }) => `${name}: ${mountPath}`),
    }));
    return { containers: shown, volumes };
  });
}

test('by default, secrets are variables, and there are no volumes', async () => {
  const [api, operator] = await pods({});
  expect(api).toEqual({
    containers: [
      { secrets: ['DATABASE_URL=…'], mounts: [] },
      {
        secrets: ['DATABASE_URL=…', 'BOOTSTRAP_API_KEY=…', 'ENCRYPTION_KEY=…', 'OTEL_EXPORTER_OTLP_HEADERS=…'],
        mounts: [],
      },
    ],
    volumes: [],
  });
  expect(operator).toMatchObject({ containers: [{ secrets: ['TUNNEL_API_KEY=…', 'OTEL_EXPORTER_OTLP_HEADERS=…'] }] });
});

test('with mountAsFiles, secrets are files in one volume, beside those of the user, who may name other files', async () => {
  const mine = { extraVolumes: [{ name: 'ca' }], extraVolumeMounts: [{ name: 'ca', mountPath: '/ca' }] };
  const [api, operator] = await pods({
    secrets: { mountAsFiles: true },
    api: mine,
    operator: { extraEnv: [{ name: 'TUNNEL_API_KEY_FILE', value: '/vault/key' }] },
  });
  const at = (name: string) => `${name}_FILE=/run/secrets/tunnel-operator/${name}`;
  const mounts = ['secrets: /run/secrets/tunnel-operator', 'ca: /ca'];
  const source = (name: string, key: string, path: string) => ({ secret: { name, items: [{ key, path }] } });
  expect(api?.containers).toEqual([
    { secrets: [at('DATABASE_URL')], mounts },
    {
      secrets: ['DATABASE_URL', 'BOOTSTRAP_API_KEY', 'ENCRYPTION_KEY', 'OTEL_EXPORTER_OTLP_HEADERS'].map(at),
      mounts,
    },
  ]);
  expect(api?.volumes).toEqual([
    {
      name: 'secrets',
      projected: {
        sources: [
          source('it-tunnel-operator', 'bootstrap-api-key', 'BOOTSTRAP_API_KEY'),
          source('it-tunnel-operator-database-url', 'url', 'DATABASE_URL'),
          source('it-tunnel-operator', 'encryption-key', 'ENCRYPTION_KEY'),
          source('collector', 'headers', 'OTEL_EXPORTER_OTLP_HEADERS'),
        ],
      },
    },
    { name: 'ca' },
  ]);
  expect(operator?.containers[0]?.secrets).toEqual([
    at('OTEL_EXPORTER_OTLP_HEADERS'),
    'TUNNEL_API_KEY_FILE=/vault/key',
  ]);
});

test('a file that the user names takes the place of the variable', async () => {
  const extraEnv = [{ name: 'TUNNEL_API_KEY_FILE', value: '/vault/key' }];
  const [, operator] = await pods({ operator: { extraEnv } });
  expect(operator?.containers[0]?.secrets).toEqual(['OTEL_EXPORTER_OTLP_HEADERS=…', 'TUNNEL_API_KEY_FILE=/vault/key']);
});
