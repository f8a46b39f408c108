/** What the command `plan` reads: files, the cluster, and what objects refer to in both. */
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GROUP } from '../../src/operator/contract/names.ts';
import { kubectl } from '../harness.ts';
import { ACCOUNT, chartAccount } from './chart-account.ts';
import { runCommand } from './command.ts';
import { core, object, startPlanning, textOf } from './planning.ts';
import { credential, type Manifest, ours, POLICIES, policy } from './stack.ts';

const { stack, plan, planOf, given, env, written } = await startPlanning('plan-inputs');
const { namespace } = stack;
const CONFIGURATIONS = ours('endpointconfigurations');
const BACKENDS = ours('httpresponsebackends');

describe('plan reads', () => {
  test('finds what objects refer to in the files and in the cluster, in any order', async () => {
    await given(
      policy('in-cluster'),
      object('EndpointConfiguration', 'ec', { type: 'http', ipPolicyRefs: [{ name: 'in-cluster' }] }),
    );
    const { id } = (await stack.see(CONFIGURATIONS, 'ec')).status;
    const ec = (...names: string[]) =>
      object('EndpointConfiguration', 'ec', { type: 'http', ipPolicyRefs: names.map((name) => ({ name })) });
    expect(await plan([ec('in-cluster')])).toMatchObject({ code: 0 });
    const { code, stdout } = await plan([ec('in-cluster', 'in-file'), policy('in-file')]);
    expect(code).toBe(2);
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      `~ change EndpointConfiguration ${namespace}/ec (${id})`,
      `    spec.ipPolicyRefs: ["IPPolicy in-cluster"] → ["IPPolicy in-cluster","IPPolicy in-file"]`,
      `+ create IPPolicy ${namespace}/in-file`,
    ]);
    const missing = await plan([ec('in-cluster', 'nowhere')]);
    expect(missing.code).toBe(1);
    expect(missing.stdout).toContain(
      `! blocked EndpointConfiguration ${namespace}/ec (spec.ipPolicyRefs[1]: IPPolicy ${namespace}/nowhere does not exist: create it, or correct the reference)`,
    );
  });

  test('is not confused by a kind of another group that has the same name', async () => {
    await given();
    const referring = object('EndpointConfiguration', 'near', { type: 'http', ipPolicyRefs: [{ name: 'office' }] });
    const foreign = { apiVersion: 'ingress.example.com/v1', kind: 'IPPolicy', metadata: { name: 'office' } };
    const { code, stdout } = await plan([policy('office'), referring, foreign]);
    expect(stdout).toContain('spec.ipPolicyRefs: ["IPPolicy office"]');
    expect(code).toBe(2);
  });

  test('takes what is no object for what it was', async () => {
    const malformed = (each: Manifest) => ({ ...each, metadata: { ...each.metadata, finalizers: 'x' } });
    const theirs = await stack.client.ipPolicies.create({});
    const modules = (name: string) => object('HTTPSEdgeRouteModules', name, { routeRef: { name: 'way' } });
    const backendRef = { kind: 'HTTPResponseBackend', name: 'way' };
    await given(policy('whole'));
    const { code, stdout } = await plan([
      malformed(modules('way')),
      malformed(policy('whole')),
      policy('taking', {}, { [`${GROUP}/adopt`]: theirs.id }),
      object('HTTPSEdge', 'way', {}),
      object('HTTPResponseBackend', 'way', { body: { value: 'x' } }),
      object('HTTPSEdgeRoute', 'way', { edgeRef: { name: 'way' }, match: '/', matchType: 'path_prefix', backendRef }),
    ]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/! blocked HTTPSEdgeRouteModules \S+\/way \(.*finalizers/s);
    expect(stdout).toMatch(/! blocked IPPolicy \S+\/whole \(.*finalizers/s);
    expect(stdout).toContain(`= no change IPPolicy ${namespace}/taking (${theirs.id}: adopted)`);
    expect(stdout).toContain(`+ create HTTPSEdgeRoute ${namespace}/way\n`);
    expect(stdout).toContain('2 blocked');
  });

  test('takes an empty namespace for none, in objects of every group', async () => {
    await given(policy('empty'));
    const { id } = (await stack.see(POLICIES, 'empty')).status;
    for (const empty of [null, '']) {
      const files = [policy('empty'), policy('also'), core('ConfigMap', 'empty', {})].map((each) => ({
        ...each,
        metadata: { ...each.metadata, namespace: empty },
      }));
      const { code, stdout } = await plan(files);
      expect(stdout).toContain(
        `= no change IPPolicy ${namespace}/empty (${id})\n+ create IPPolicy ${namespace}/also\n`,
      );
      expect(code).toBe(2);
    }
  });

  test('asks for the grant of another namespace, which a file may hold', async () => {
    await given();
    const spec = { type: 'http', ipPolicyRefs: [{ name: 'far', namespace: 'elsewhere' }] };
    const far = { ...policy('far'), metadata: { name: 'far', namespace: 'elsewhere' } };
    const near = object('EndpointConfiguration', 'near', spec);
    const nowhere = await plan([near, far]);
    expect(nowhere.code).toBe(1);
    expect(nowhere.stdout).toContain('! blocked IPPolicy elsewhere/far (namespace elsewhere does not exist)');
    const objects = [near, far, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'elsewhere' } }];
    const refused = await plan(objects);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain('no ReferenceGrant in namespace elsewhere permits references');
    const grant = {
      apiVersion: 'gateway.networking.k8s.io/v1beta1',
      kind: 'ReferenceGrant',
      metadata: { name: 'near', namespace: 'elsewhere' },
      spec: {
        from: [{ group: GROUP, kind: 'EndpointConfiguration', namespace }],
        to: [{ group: GROUP, kind: 'IPPolicy' }],
      },
    };
    const granted = await plan([...objects, grant]);
    expect(granted.stdout).toContain('spec.ipPolicyRefs: ["IPPolicy elsewhere/far"]');
    expect(granted.stdout).toContain(
      'Note: IPPolicy objects of it were not checked against the rules of the cluster: namespace elsewhere does not exist yet',
    );
    expect(granted.code).toBe(2);
  });

  test('reads sources from files and cluster, and of Secrets shows only that they change', async () => {
    const spec = {
      body: { secretKeyRef: { name: 'page', key: 'html' } },
      headers: { 'x-note': { configMapKeyRef: { name: 'page', key: 'note' } } },
    };
    await stack.apply(
      core('Secret', 'page', { stringData: { html: 'hidden one' } }) as Manifest,
      core('ConfigMap', 'page', { data: { note: 'seen one' } }) as Manifest,
    );
    await given(object('HTTPResponseBackend', 'page', spec));
    const { id } = (await stack.see(BACKENDS, 'page')).status;
    const backend = object('HTTPResponseBackend', 'page', spec);
    expect(await plan([backend])).toMatchObject({ code: 0 });

    const secret = core('Secret', 'page', { stringData: { html: 'hidden two' } });
    const map = core('ConfigMap', 'page', { data: { note: 'seen two' } });
    const changed = await plan([secret, map, backend]);
    expect(changed.code).toBe(2);
    expect(changed.stdout.split('\n').slice(0, 3)).toEqual([
      `~ change HTTPResponseBackend ${namespace}/page (${id})`,
      '    spec.body: (secret) changed',
      '    spec.headers.x-note: "seen one" → "seen two"',
    ]);
    // What is no secret any more was one until now.
    const inline = await plan([object('HTTPResponseBackend', 'page', { ...spec, body: { value: 'open' } })], {
      output: 'json',
    });
    expect(JSON.parse(inline.stdout).objects[0].changes).toEqual([{ path: 'spec.body', secret: 'changed' }]);
    const created = await plan([secret, object('HTTPResponseBackend', 'other', spec)]);
    expect(created.stdout).toContain('    spec.body: (secret)\n');
    for (const { stdout } of [changed, inline, created]) expect(stdout).not.toContain('hidden');
    const missing = await plan([
      object('HTTPResponseBackend', 'page', { body: { secretKeyRef: { name: 'no', key: 'x' } } }),
    ]);
    expect(missing.stdout).toContain(`(spec.body: Secret ${namespace}/no does not exist: create it, or name another)`);
    expect(missing.code).toBe(1);
  });

  test('plans many objects, each after those that it refers to, and lists them as the files do', async () => {
    await given();
    const names = Array.from({ length: 30 }, (_, n) => `many-${n}`);
    const referring = (name: string) =>
      object('EndpointConfiguration', name, { type: 'http', ipPolicyRefs: [{ name }, { name: 'many-0' }] });
    const { code, stdout } = await plan(names.flatMap((name) => [referring(name), policy(name)]));
    expect(code).toBe(2);
    expect(stdout.split('\n').filter((line) => line.startsWith('+ '))).toEqual(
      names.flatMap((name) =>
        ['EndpointConfiguration', 'IPPolicy'].map((kind) => `+ create ${kind} ${namespace}/${name}`),
      ),
    );
  });

  test('says of which object it lacks a right to look at, and plans the others', async () => {
    const source = (kind: 'secret' | 'configMap') => ({ body: { [`${kind}KeyRef`]: { name: 'seen', key: 'x' } } });
    await stack.apply(core('Secret', 'seen', { stringData: { x: 'hidden' } }) as Manifest);
    await stack.apply(core('ConfigMap', 'seen', { data: { x: 'open' } }) as Manifest);
    const kubeconfig = await chartAccount(kubectl, namespace, [namespace], (rules) =>
      rules.filter(({ resources }) => !resources.includes('secrets')),
    );
    const bot = await stack.client.botUsers.create({ name: 'reader' });
    const { token } = await stack.client.apiKeys.create({ owner_id: bot.id });
    await given();
    const objects = [
      object('HTTPResponseBackend', 'one', source('secret')),
      object('HTTPResponseBackend', 'two', source('configMap')),
      object('BotUser', 'three', { name: 'reader' }, { [`${GROUP}/adopt`]: bot.id }),
      credential('four'),
    ];
    const titles = ({ stdout }: { stdout: string }) => stdout.split('\n').filter((line) => /^[!+=~] /.test(line));
    const account = `system:serviceaccount:${namespace}:${ACCOUNT}`;
    const lacking = await plan(objects, { kubeconfig });
    expect(lacking.code).toBe(1);
    const forbidden = (name: string) =>
      `secrets "${name}" is forbidden: User "${account}" cannot get resource "secrets" in API group "" in the namespace "${namespace}"`;
    expect(titles(lacking)).toEqual([
      `! blocked HTTPResponseBackend ${namespace}/one (could not be looked at: ${forbidden('seen')})`,
      `+ create HTTPResponseBackend ${namespace}/two`,
      `= no change BotUser ${namespace}/three (${bot.id}: adopted)`,
      `+ create TunnelCredential ${namespace}/four`,
    ]);
    expect(lacking.stdout).toContain(
      `Note: whether Secret ${namespace}/four belongs to something else was not checked: ${forbidden('four')}\n`,
    );
    const [one, two, three] = titles(await plan(objects, { apiKey: token ?? '' }));
    expect([one, two]).toEqual(['one', 'two'].map((name) => `+ create HTTPResponseBackend ${namespace}/${name}`));
    expect(three).toContain(`! blocked BotUser ${namespace}/three (could not be looked at with this API key: `);
  });

  test('takes what is given twice once, and names the places where it differs', async () => {
    await given();
    const page = (html: string) => core('Secret', 'twice', { stringData: { html } });
    const backend = object('HTTPResponseBackend', 'twice', { body: { secretKeyRef: { name: 'twice', key: 'html' } } });
    const same = { ...policy('same'), metadata: { ...policy('same').metadata, namespace } };
    const identical = await plan([policy('same'), page('one'), backend, same, page('one')]);
    expect(identical.stdout).toContain('Plan: 2 to create, 0 to change, 0 to replace, 0 without a change, 0 blocked.');

    const file = await written('twice.yaml', textOf([policy('twice', { description: 'a' }), page('one'), backend]));
    const list = { apiVersion: 'v1', kind: 'List', items: [page('two'), policy('twice', { description: 'b' })] };
    const other = await written('again.json', JSON.stringify(list));
    const { code, stdout } = await planOf([file, other]);
    expect(code).toBe(1);
    const places = (document: number, item: number) =>
      `declared differently in ${file}, document ${document}, and in ${other}, document 1, item ${item}`;
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      `! blocked IPPolicy ${namespace}/twice (${places(1, 2)})`,
      `! blocked HTTPResponseBackend ${namespace}/twice (spec.body: Secret ${namespace}/twice is ${places(2, 1)})`,
    ]);
  });

  test('reads files, folders with several documents, and lists', async () => {
    await given();
    const yaml = ['one', 'two'].map((name) => JSON.stringify(policy(name))).join('\n---\n');
    const file = await written('several/b.yaml', `# comment\n---\n${yaml}\n---\n`);
    const list = { apiVersion: 'v1', kind: 'List', items: [policy('three')] };
    await written('several/a.json', JSON.stringify(list));
    const notes = await written('several/notes.txt', 'not: [yaml');
    const names = [...(await planOf([dirname(file)])).stdout.matchAll(/^\+ create IPPolicy \S+\/(\w+)/gm)].map(
      ([, name]) => name,
    );
    expect(names).toEqual(['three', 'one', 'two']);
    await expect(planOf([notes])).rejects.toThrow(/notes\.txt: /);
  });

  test('says in one line what it cannot read', async () => {
    await given();
    const none = await runCommand(['plan', '-f', join(env.HOME, 'none')], env);
    expect(none).toMatchObject({ code: 1, stdout: '' });
    expect(none.stderr).toMatch(/^tunnel-operator failed: .*none does not exist\n$/);
    const unloadable = await runCommand(['plan', '-f', env.HOME], { ...env, KUBECONFIG: '/dev/null' });
    expect(unloadable.stderr).toContain('KUBECONFIG is "/dev/null", which cannot be loaded');
    expect((await runCommand(['plan'], env)).stderr).toContain("required option '-f, --filename <path>' not specified");
    await expect(plan([{ kind: 'IPPolicy' }])).rejects.toThrow(/, document 1 is no Kubernetes object: /);
    const adopting = policy('x', {}, { [`${GROUP}/adopt`]: 'ipp_01jd0000000000000000000000' });
    await expect(plan([adopting], { apiKey: 'wrong' })).rejects.toThrow(/^the management API at http/);
  });
});
