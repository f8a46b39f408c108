/** Checks the promise: everything declared exists exactly once, everywhere, and nothing else does. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { storyRow } from '../../dev/fixtures/story-rows.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { createClient } from '../../src/client/client.ts';
import { ANNOTATION, FINALIZER, SECRET_TYPE } from '../../src/operator/contract/names.ts';
import { eventDestinationKind } from '../../src/operator/kinds/event-destination.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { annotation, type KubeObject } from '../../src/operator/kube/kube-object.ts';
import type { Remote } from '../../src/operator/managed/declaration/external.ts';
import { readIdentity } from '../../src/operator/managed/identity/identity.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { SECRETS } from '../../src/operator/managed/secrets/secret-cache.ts';
import { conditionProblems } from '../settled.ts';
import type { Declared, PolicySpec } from './declared.ts';
import { type Outline, sketch, sketchSecret } from './outline.ts';
import type { Stage } from './stage.ts';

interface Inspection {
  /** In sentences; empty when the promise is kept. */
  problems: string[];
  outline: Outline;
}

type Rule = Awaited<ReturnType<Stage['client']['ipPolicyRules']['get']>>;

const secretData = z.record(z.string(), z.string());

const namingSecret = z.object({
  secret: z.object({ name: z.string().optional(), key: z.string().optional() }).optional(),
});

/** Inspects the whole namespace and the whole API. */
export async function inspect(stage: Stage): Promise<Inspection> {
  const { namespace, kube, client } = stage;
  const items = async (type: ResourceType) => (await kube.list(type, { namespace })).items;
  const objects: KubeObject[] = [];
  const remotes: { kind: string; remote: Remote }[] = [];
  for (const row of stage.kinds) {
    const kind = row.name;
    objects.push(...(await items(row.type)).map((object) => ({ ...object, kind })));
    remotes.push(...(await stage.resourcesOf(row)).map((remote) => ({ kind, remote })));
  }
  const secrets = (await items(SECRETS)).filter(({ type }) => Object.values<unknown>(SECRET_TYPE).includes(type));
  const rules = await Array.fromAsync(client.ipPolicyRules.list());

  const problems: string[] = [];
  const outline: Outline = {};
  const claimed = new Set<string>();
  const secretsOf = new Set<string>();
  for (const [key, declared] of stage.declared) {
    const object = objects.find(({ kind, metadata }) => `${kind}/${metadata.name}` === key);
    if (!object) {
      problems.push(`${key} does not exist`);
      continue;
    }
    const say = (problem: string) => problems.push(`${key} ${problem}`);
    const id = readIdentity(object).externalId ?? '';
    claimed.add(`${declared.kind} ${id}`);
    checkObject(object, say);
    const described = { ...sketch(object) };
    checkRemote(
      remoteOf(declared),
      remotes.find(({ kind, remote }) => kind === declared.kind && remote.id === id)?.remote,
      say,
    );
    if (!('remote' in declared) && declared.kind === 'IPPolicy') checkRules(declared.spec, rulesOf(rules, id), say);
    const { delivery } = storyRow(declared.kind).kind;
    if (delivery) {
      const { secret: where } = namingSecret.parse(declared.spec);
      const name = where?.name ?? `${declared.name}${delivery.handout.suffix}`;
      secretsOf.add(name);
      const secret = secrets.find(({ metadata }) => metadata.name === name);
      if (secret) {
        await checkSecret(stage, { kind: declared.kind, key: where?.key }, secret, object, id, say);
        Object.assign(described, { secret: sketchSecret(secret) });
      } else say(`has no Secret ${name}`);
    }
    outline[key] = described;
  }

  for (const { kind, metadata } of objects) {
    const key = `${kind}/${metadata.name}`;
    if (!stage.declared.has(key)) problems.push(`${key} was deleted and still exists`);
  }
  const living = new Set(objects.map(({ metadata }) => metadata.uid));
  for (const { metadata } of secrets) {
    // Kubernetes garbage-collects Secrets without an owner some time later; half a minute if the owner's kind is new.
    const isGarbage = metadata.ownerReferences?.every(({ uid }) => !living.has(uid)) ?? false;
    if (!secretsOf.has(metadata.name) && !isGarbage) problems.push(`Secret ${metadata.name} is left over`);
  }
  for (const { kind, remote } of remotes) {
    if (!claimed.has(`${kind} ${remote.id}`)) problems.push(`${kind} ${remote.id} is an orphan`);
  }
  for (const { id, ip_policy } of rules) {
    if (!claimed.has(`IPPolicy ${ip_policy.id}`)) problems.push(`${id} is an orphan of ${ip_policy.id}`);
  }
  return { problems, outline };
}

/** Waits until the promise is kept and no operator has anything to do. @throws with what is wrong after `timeoutMs` */
export async function untilSettled(stage: Stage, timeoutMs = 30_000, intervalMs = 40): Promise<Outline> {
  const look = async () => {
    // An inspection takes longer than most of the operator's work.
    if (!(await isIdle(stage)) || (await inspect(stage)).problems.length > 0 || !(await isIdle(stage)))
      return undefined;
    // Inspect again: during the first inspection, a busy operator may have changed what was already inspected.
    const { problems, outline } = await inspect(stage);
    return problems.length === 0 ? outline : undefined;
  };
  try {
    return await waitFor('everything to be as declared', look, { timeoutMs, intervalMs });
  } catch (error) {
    const { problems } = await inspect(stage);
    const why = problems.length > 0 ? problems.join('; ') : 'an operator is still at work';
    throw new Error(`not as declared: ${why}`, { cause: error });
  }
}

/** Ends all faults, deletes everything, and removes leftovers by force. @throws if the operator left anything */
export async function cleanUp(stage: Stage): Promise<void> {
  for (const proxy of stage.proxies) proxy.intercept();
  try {
    await stage.removeAll();
    await untilSettled(stage);
  } finally {
    await stage.sweep();
  }
}

export async function isIdle(stage: Stage): Promise<boolean> {
  if (stage.proxies.some(({ inFlight }) => inFlight > 0)) return false;
  const idle = await Promise.all(stage.operators.map((operator) => operator.isRunning && operator.isIdle()));
  return idle.every(Boolean) && stage.proxies.every(({ inFlight }) => inFlight === 0);
}

type Say = (problem: string) => void;

function checkObject(object: KubeObject, say: Say): void {
  const { metadata } = object;
  const identity = readIdentity(object);
  const status = readStatus(object);
  if (metadata.deletionTimestamp) say('is being deleted');
  if (!isDeepStrictEqual(metadata.finalizers, [FINALIZER])) say(`has the finalizers ${metadata.finalizers}`);
  if (identity.externalId === undefined) say('has no external id');
  if (status.id !== identity.externalId) say(`says ${status.id} in its status, ${identity.externalId} is recorded`);
  if (identity.retiring.length > 0) say(`still retires ${identity.retiring.map(({ id }) => id)}`);
  if (status.observedGeneration !== metadata.generation) say('has a status of an older generation');
  if (annotation(object, ANNOTATION.rotateRequestedAt) !== annotation(object, ANNOTATION.rotateHandledAt)) {
    say('was not rotated as requested');
  }
  if (annotation(object, ANNOTATION.rotation) !== undefined) say('is still being rotated');
  if (annotation(object, ANNOTATION.reconcileRequestedAt) !== status.lastHandledReconcileAt) {
    say('was not reconciled as requested');
  }
  for (const type of ['Ready', 'Synced']) {
    const condition = findCondition(status.conditions ?? [], type);
    if (condition?.status !== 'True') say(`is not ${type}: ${condition?.reason} ${condition?.message}`);
  }
  for (const problem of conditionProblems(object)) say(problem);
}

/** The fields that the API must have for a declared object. */
function remoteOf(declared: Declared): Readonly<Record<string, unknown>> {
  if ('remote' in declared) return declared.remote;
  const description = declared.spec.description ?? null;
  return declared.kind === 'IPPolicy' ? { description } : { description, acl: declared.spec.acl ?? [] };
}

function checkRemote(wanted: Readonly<Record<string, unknown>>, remote: Remote | undefined, say: Say): void {
  if (!remote) {
    say('has no resource in the API');
    return;
  }
  const actual = new Map<string, unknown>(Object.entries(remote));
  for (const [name, value] of Object.entries(wanted)) {
    if (!contains(actual.get(name), value)) say(`has ${JSON.stringify(actual.get(name))} as ${name} in the API`);
  }
}

/** Whether `actual` has everything that is wanted; objects may have more members. */
function contains(actual: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return actual === wanted;
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(actual) &&
      actual.length === wanted.length &&
      wanted.every((each, index) => contains(actual[index], each))
    );
  }
  const members = new Map<string, unknown>(Object.entries(actual ?? {}));
  return Object.entries(wanted).every(([name, value]) => contains(members.get(name), value));
}

function checkRules(spec: PolicySpec, rules: Rule[], say: Say): void {
  const wanted = (spec.rules ?? []).map(({ cidr, action, description = null }) => ({ cidr, action, description }));
  const actual = rules.map(({ cidr, action, description }) => ({ cidr, action, description }));
  const sorted = (list: typeof wanted) => list.toSorted((a, b) => (a.cidr < b.cidr ? -1 : 1));
  if (!isDeepStrictEqual(sorted(wanted), sorted(actual))) say(`has the rules ${JSON.stringify(actual)}`);
}

/** By kind: the keys of the Secret, and a check that its value belongs to the resource. */
const HANDED_OUT: Readonly<
  Record<string, { key: string; idKey: string; isOf: (stage: Stage, value: string, id: string) => Promise<boolean> }>
> = {
  TunnelCredential: {
    key: 'token',
    idKey: 'credential-id',
    async isOf({ client }, token, id) {
      const decision = await client.authenticate({ token });
      return decision.allowed && decision.credential_id === id;
    },
  },
  APIKey: {
    key: 'token',
    idKey: 'api-key-id',
    async isOf({ apiUrl: baseUrl }, apiKey, id) {
      const client = createClient({ baseUrl, apiKey, retries: 0 });
      const caller = await client.whoami().catch(() => undefined);
      await client.close();
      return caller?.api_key.id === id;
    },
  },
  EventDestination: {
    key: 'signing-secret',
    idKey: 'event-destination-id',
    /** The API does not show the secret that signs events, but an update may send it back, and no other. */
    isOf({ client }, signing_secret, id) {
      const sent = eventDestinationKind.calls(client).update(id, { signing_secret });
      return sent.then(
        () => true,
        () => false,
      );
    },
  },
  SSHHostCertificate: {
    key: 'ssh_host_key-cert.pub',
    idKey: 'ssh-host-certificate-id',
    async isOf({ client }, text, id) {
      const made = await client.sshHostCertificates.get(id).catch(() => undefined);
      return made?.certificate === text;
    },
  },
};

async function checkSecret(
  stage: Stage,
  given: { kind: string; key: string | undefined },
  secret: KubeObject,
  owner: KubeObject,
  id: string,
  say: Say,
) {
  const { metadata } = secret;
  const handedOut = HANDED_OUT[given.kind];
  if (!handedOut) throw new Error(`nobody has said what ${given.kind} hands out`);
  const { idKey, isOf } = handedOut;
  const key = given.key ?? handedOut.key;
  const data = secretData.parse(secret.data ?? {});
  const decode = (value = '') => Buffer.from(value, 'base64').toString();
  const keys = Object.keys(data).toSorted();
  if (!isDeepStrictEqual(keys, [idKey, key].toSorted())) say(`has the keys ${keys} in its Secret`);
  if (decode(data[idKey]) !== id) say(`has ${decode(data[idKey])} in its Secret instead of ${id}`);
  const owners = metadata.ownerReferences?.map(({ uid }) => uid) ?? [];
  if (!isDeepStrictEqual(owners, [owner.metadata.uid])) say('does not own its Secret alone');
  if (metadata.deletionTimestamp) say('has a Secret that is being deleted');
  if (!(await isOf(stage, decode(data[key]) || 'none', id)))
    say(`has something in its Secret that is not that of ${id}`);
}

function rulesOf(rules: readonly Rule[], id: string): Rule[] {
  return rules.filter(({ ip_policy }) => ip_policy.id === id);
}
