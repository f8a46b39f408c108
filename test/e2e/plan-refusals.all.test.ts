/** What the command `plan` says of objects that nobody could make as they are. */
import { describe, expect, test } from 'vitest';
import { ANNOTATION, GROUP } from '../../src/operator/contract/names.ts';
import { runCommand } from './command.ts';
import { core, NOTHING, object, startPlanning, textOf } from './planning.ts';
import { CREDENTIALS, credential, ours, policy } from './stack.ts';

const { stack, plan, planned, given, env } = await startPlanning('plan-refusals');
const { namespace } = stack;

describe('plan refuses', () => {
  test('says what the API server would refuse: rules of the CRDs, and what cannot change', async () => {
    await given(object('EndpointConfiguration', 'kept', { type: 'http' }), object('TLSEdge', 'kept', {}));
    const objects = [
      object('ReservedDomain', 'both', {
        domain: 'both.example.com',
        certificateRef: { name: 'x' },
        certificateManagementPolicy: { authority: 'letsencrypt', privateKeyType: 'ecdsa' },
      }),
      object('EndpointConfiguration', 'kept', { type: 'tcp' }),
      { ...policy('Upper'), metadata: { name: 'Upper' } },
      object('TLSEdgeModules', 'deep', { tlsEdgeRef: { name: 'kept' }, backend: { backendReff: {} } }),
    ];
    const { code, stdout } = await plan(objects);
    expect(code).toBe(1);
    expect(stdout).toContain('certificateRef cannot be combined with certificateManagementPolicy');
    expect(stdout).toMatch(/! blocked EndpointConfiguration .*type is immutable/);
    expect(stdout).toMatch(/! blocked IPPolicy \S+\/Upper \(metadata\.name: Invalid value: "Upper"/);
    expect(stdout).toMatch(/! blocked TLSEdgeModules .*backendReff/);
    expect(stdout).toContain(`Plan: ${NOTHING}, 0 without a change, 4 blocked.`);
    // A name that differs from the one in the cluster only by what is set beside the spec.
    const labelled = { ...policy('labelled'), metadata: { name: 'labelled', labels: { a: 'b' } } };
    expect(await plan([labelled])).toMatchObject({ code: 2 });
  });

  test('says where nothing may be adopted, whether or not it exists', async () => {
    const { id } = await stack.client.tlsEdges.create({});
    await given();
    const refused = (each: object) => plan([each], { adoptNamespaces: ['elsewhere'] });
    for (const adopted of [id, 'edgtls_01jd0000000000000000000000']) {
      const { code, stdout } = await refused(object('TLSEdge', 'theirs', {}, { [`${GROUP}/adopt`]: adopted }));
      expect(code).toBe(1);
      expect(stdout).toContain(`existing resources may be neither adopted nor observed from namespace ${namespace}`);
      const modules = await refused(object('TLSEdgeModules', 'theirs', { tlsEdgeRef: { id: adopted } }));
      expect(modules.stdout).toContain(`nothing may be named by its id from namespace ${namespace}`);
    }
    const named = await refused(object('TLSEdge', 'theirs', {}, { [ANNOTATION.externalId]: id }));
    expect(named.stdout).toContain(
      `existing resources may be neither adopted nor observed from namespace ${namespace}`,
    );
    expect(await refused(object('TLSEdge', 'own', {}))).toMatchObject({ code: 2 });
    const theirs = textOf([object('TLSEdge', 'theirs', {}, { [`${GROUP}/adopt`]: id })]);
    const args = ['plan', '-f', '-', '-n', namespace, '--adopt-namespaces', namespace];
    expect(await runCommand(args, env, theirs)).toMatchObject({ code: 0 });
  });

  test('says which ids do not exist, except those that the resource has already', async () => {
    const [kept, gone] = [await stack.client.ipPolicies.create({}), await stack.client.ipPolicies.create({})];
    const backend = await stack.client.tunnelGroupBackends.create({ labels: { app: 'web' } });
    const nowhere = (prefix: string) => ({ id: `${prefix}_01jd0000000000000000000000` });
    const ec = (...ids: object[]) => object('EndpointConfiguration', 'by-id', { type: 'http', ipPolicyRefs: ids });
    await stack.apply(ec({ id: gone.id }));
    await given(ec({ id: gone.id }), object('TLSEdge', 'by-id', {}));
    await stack.client.ipPolicies.delete(gone.id);
    await given();
    expect((await plan([ec({ id: gone.id }, { id: kept.id })])).stdout).toContain('~ change EndpointConfiguration');

    const modules = (ref: object) =>
      object('TLSEdgeModules', 'by-id', { tlsEdgeRef: { name: 'by-id' }, backend: { backendRef: ref } });
    const { code, stdout } = await plan([
      ec({ id: gone.id }, nowhere('ipp')),
      object('ReservedDomain', 'by-id', { domain: 'by-id.example.com', certificateRef: nowhere('cert') }),
      object('TunnelCredential', 'by-id', { ownerId: nowhere('usr').id }),
      object('HTTPSEdgeRoute', 'by-id', { edgeRef: nowhere('edghts'), match: '/', matchType: 'path_prefix' }),
      modules(nowhere('bkdtg')),
    ]);
    expect(code).toBe(1);
    const said = [...stdout.matchAll(/^! blocked (\w+) \S+ \((.*)\)$/gm)].map(([, kind, why]) => [kind, why]);
    expect(said).toEqual([
      ['EndpointConfiguration', `spec.ipPolicyRefs[1].id: ${nowhere('ipp').id} does not exist`],
      ['ReservedDomain', `spec.certificateRef.id: ${nowhere('cert').id} does not exist`],
      ['TunnelCredential', `spec.ownerId: ${nowhere('usr').id} does not exist`],
      ['HTTPSEdgeRoute', `spec.edgeRef.id: ${nowhere('edghts').id} does not exist`],
      ['TLSEdgeModules', `spec.backend.backendRef.id: ${nowhere('bkdtg').id} does not exist`],
    ]);
    expect(await plan([modules({ id: backend.id })])).toMatchObject({ code: 2 });
  });

  test('takes for there what the API key may not see, such as the bot to whom it belongs', async () => {
    const bot = await stack.client.botUsers.create({ name: 'planner' });
    const { token } = await stack.client.apiKeys.create({ owner_id: bot.id });
    await given();
    const { code, stdout } = await plan([object('TunnelCredential', 'own', { ownerId: bot.id })], {
      apiKey: token ?? '',
    });
    expect(stdout).toContain(`+ create TunnelCredential ${namespace}/own`);
    expect(code).toBe(2);
  });

  test('says whose keys would have the rights of a user, unless they may', async () => {
    await given();
    const key = (spec: object) => object('APIKey', 'key', spec);
    const refused = await plan([key({})]);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toMatch(/! blocked APIKey \S+ \(an APIKey must belong to a bot: set spec\.ownerRef/);
    const owned = await plan([key({ ownerRef: { name: 'bot' } }), object('BotUser', 'bot', { name: 'bot' })]);
    expect(owned.stdout).toContain('+ create APIKey');
    expect((await plan([key({})], { allowUserApiKeys: true })).stdout).toContain('+ create APIKey');
  });

  test('says which other object manages the same already', async () => {
    await given(object('TLSEdge', 'mine', {}), object('TLSEdgeModules', 'mine', { tlsEdgeRef: { name: 'mine' } }));
    const id = String((await stack.see(ours('tlsedges'), 'mine')).status.id);
    const free = await stack.client.tlsEdges.create({});
    await given();
    const adopting = (name: string, adopted: string) => object('TLSEdge', name, {}, { [`${GROUP}/adopt`]: adopted });
    const { code, stdout } = await plan([
      object('TLSEdge', 'mine', {}),
      // What others refer to has its place in the files like the rest.
      object('TLSEdgeModules', 'of-second', { tlsEdgeRef: { name: 'second' } }),
      adopting('theirs', id),
      adopting('first', free.id),
      adopting('second', free.id),
      object('TLSEdgeModules', 'mine', { tlsEdgeRef: { name: 'mine' } }),
      object('TLSEdgeModules', 'also-mine', { tlsEdgeRef: { name: 'mine' } }),
      object('TLSEdge', 'observed', { managementPolicy: 'Observe' }, { [`${GROUP}/adopt`]: id }),
    ]);
    expect(code).toBe(1);
    const taken = (kind: string) =>
      `is already managed by the ${kind} ${namespace}/mine: delete this object, or set deletionPolicy of that one to Retain and delete it`;
    expect(stdout.split('\n').filter((line) => /^\S/.test(line))).toEqual([
      `= no change TLSEdge ${namespace}/mine (${id})`,
      `! blocked TLSEdgeModules ${namespace}/of-second (spec.tlsEdgeRef: TLSEdge ${namespace}/second is not ready yet: its condition Ready says why)`,
      `! blocked TLSEdge ${namespace}/theirs (${id} ${taken('TLSEdge')})`,
      `= no change TLSEdge ${namespace}/first (${free.id}: adopted)`,
      `! blocked TLSEdge ${namespace}/second (${free.id} is claimed by the TLSEdge ${namespace}/first, which is older but has not taken it over yet: see there, or delete that object)`,
      `= no change TLSEdgeModules ${namespace}/mine (${id})`,
      `! blocked TLSEdgeModules ${namespace}/also-mine (${id} ${taken('TLSEdgeModules')})`,
      `= no change TLSEdge ${namespace}/observed (${id}: only observed)`,
      `Plan: ${NOTHING}, 4 without a change, 4 blocked.`,
    ]);
  });

  test('says that another object claims the same, also if that is new and paused', async () => {
    const free = await stack.client.tlsEdges.create({});
    await given();
    const adopting = (name: string, more = {}) => object('TLSEdge', name, {}, { [`${GROUP}/adopt`]: free.id, ...more });
    const resting = adopting('resting', { [`${GROUP}/paused`]: 'true' });
    const { code, stdout } = await plan([resting, adopting('waiting')]);
    expect(code).toBe(1);
    expect(stdout).toContain(`= no change TLSEdge ${namespace}/resting (paused)\n`);
    expect(stdout).toContain(
      `! blocked TLSEdge ${namespace}/waiting (${free.id} is claimed by the TLSEdge ${namespace}/resting, which is older`,
    );
    expect(await plan([adopting('first'), resting])).toMatchObject({ code: 0 });
  });

  describe('a Secret', () => {
    const foreign = { type: 'Opaque', stringData: { token: 'mine' } };
    const TARGET = { webhook: { url: 'https://hook.example.com' } };
    const into = (name: string, spec: object = {}) => credential(name, { secret: { name: 'shared', ...spec } });

    /** What the operator says once the files are applied. */
    async function conflictOf(name: string) {
      const { ready } = await stack.reason(CREDENTIALS, name, 'Ready', 'SecretConflict');
      await given();
      return ready?.message;
    }

    test('of something else, where the object is new', async () => {
      await given(core('Secret', 'ci', foreign));
      const { code, objects } = await planned([credential('ci')]);
      expect(code).toBe(1);
      expect(objects).toMatchObject([{ action: 'blocked', reason: expect.stringContaining('Secret ci exists') }]);
      await stack.apply(credential('ci'));
      expect(objects[0]?.reason).toBe(await conflictOf('ci'));
    });

    test('of something else, to which the object is to move; its own is none', async () => {
      await given(core('Secret', 'taken', foreign), credential('moves'));
      expect(await planned([credential('moves')])).toMatchObject({ code: 0, objects: [{ action: 'none' }] });
      const free = await planned([credential('moves', { secret: { name: 'free' } })]);
      expect(free).toMatchObject({ code: 0, objects: [{ action: 'none' }] });
      const moved = credential('moves', { secret: { name: 'taken' } });
      const { code, objects } = await planned([moved]);
      expect(code).toBe(1);
      await stack.apply(moved);
      expect(objects).toMatchObject([{ action: 'blocked', reason: await conflictOf('moves') }]);
    });

    test('that two objects deliver into: the first in the files has it, whatever its kind', async () => {
      await given();
      const both = [into('one'), object('EventDestination', 'two', { target: TARGET, secret: { name: 'shared' } })];
      const { code, objects } = await planned(both);
      expect(code).toBe(1);
      expect(objects.map(({ action }) => action)).toEqual(['create', 'blocked']);
      expect(objects[1]?.reason).toContain('Secret shared exists and belongs to TunnelCredential one');
      const other = await planned(both.toReversed());
      expect(other.objects.map(({ action }) => action)).toEqual(['create', 'blocked']);

      await given(into('one'));
      await stack.apply(into('two'));
      const kept = await planned([into('two'), into('one')]);
      expect(kept.objects.map(({ action }) => action)).toEqual(['blocked', 'none']);
      expect(kept.objects[0]?.reason).toBe(await conflictOf('two'));
    });

    test('that cannot become what it has to be', async () => {
      await given(credential('sealed', { secret: { name: 'immutable' } }));
      await stack.run('patch', 'secret', 'immutable', '--type=merge', '-p', '{"immutable":true}');
      await given();
      const sealed = (secret: object) => planned([credential('sealed', { secret: { name: 'immutable', ...secret } })]);
      expect(await sealed({})).toMatchObject({ code: 0 });
      const { objects } = await sealed({ key: 'other' });
      await stack.apply(credential('sealed', { secret: { name: 'immutable', key: 'other' } }));
      expect(objects).toMatchObject([{ action: 'blocked', reason: await conflictOf('sealed') }]);
    });

    test('which the files have, too: a note says so', async () => {
      await given();
      const { code, stdout } = await plan([core('Secret', 'both', foreign), credential('both')]);
      expect(code).toBe(2);
      expect(stdout).toContain(
        `Note: Secret ${namespace}/both is in the files, and TunnelCredential ${namespace}/both`,
      );
    });
  });
});
