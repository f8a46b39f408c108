/** An API server that remembers what is written to it, as far as a reconcile writes. Only for test files. */
import { z } from 'zod';
import { type KubeObject, keyOf, kubeObject } from '../../../src/operator/kube/kube-object.ts';
import { type Answer, answering, json, refusal } from '../kube/answering.ts';

const members = z.record(z.string(), z.unknown());
const written = z.looseObject({ metadata: members.default({}) });
const event = z.looseObject({ type: z.string(), reason: z.string(), message: z.string() });

interface Policies {
  /** What a webhook makes of all that is written. */
  alter?: (object: KubeObject) => KubeObject;
  /** Answers every create. */
  refuse?: Answer;
}

/** @param objects by the plural of their kind */
export async function remembering(
  objects: Readonly<Record<string, readonly KubeObject[]>>,
  { alter = (object) => object, refuse }: Policies = {},
) {
  const all = new Map<string, unknown>();
  for (const [plural, list] of Object.entries(objects)) {
    for (const each of list) all.set(`${plural}/${keyOf(each)}`, each);
  }
  let made = 0;
  const events: z.output<typeof event>[] = [];

  const create = (at: string, body: unknown, isTried: boolean): Answer => {
    const { metadata, ...rest } = written.parse(body);
    const key = `${at}/${String(metadata.name)}`;
    if (refuse) return refuse;
    if (all.has(key)) return refusal(409, 'AlreadyExists');
    const namespace = at.split('/')[1];
    const known = { namespace, uid: `made-${++made}`, resourceVersion: '1', creationTimestamp: '2026-11-21T10:00:00Z' };
    const object = alter(kubeObject.parse({ ...rest, metadata: { ...metadata, ...known } }));
    if (!isTried) all.set(key, object);
    return json(object, 201);
  };

  const patch = (key: string, body: unknown, isTried: boolean): Answer => {
    const before = kubeObject.safeParse(all.get(key)).data;
    if (!before) return refusal(404, 'NotFound');
    const { uid, resourceVersion } = before.metadata;
    const { metadata } = written.parse(body);
    if ((metadata.uid ?? uid) !== uid || (metadata.resourceVersion ?? resourceVersion) !== resourceVersion)
      return refusal(409, 'Conflict');
    const merged = kubeObject.parse(merge(before, body));
    const version = { resourceVersion: String(Number(resourceVersion) + 1) };
    const after = alter({ ...merged, metadata: { ...merged.metadata, ...version } });
    if (!isTried) all.set(key, after);
    return json(after);
  };

  const answer: Answer = (response, asked) => {
    const [method, target = ''] = asked.line.split(' ');
    const { pathname, searchParams } = new URL(target, 'http://cluster');
    const [, namespace, plural, name] = /\/namespaces\/([^/]+)\/([^/]+)(?:\/([^/]+))?/.exec(pathname) ?? [];
    const isTried = searchParams.has('dryRun');
    const body: unknown = asked.body === '' ? undefined : JSON.parse(asked.body);
    const key = `${plural}/${namespace}/${name}`;
    if (plural === 'events') events.push(event.parse(body));
    const known = all.get(key);
    const answers: Record<string, () => Answer> = {
      GET: () => (known === undefined ? refusal(404, 'NotFound') : json(known)),
      POST: () => (plural === 'events' ? json(body, 201) : create(`${plural}/${namespace}`, body, isTried)),
      PATCH: () => patch(key, body, isTried),
      DELETE: () => (all.delete(key) ? json({ kind: 'Status' }) : refusal(404, 'NotFound')),
    };
    return (answers[method ?? ''] ?? (() => refusal(405)))()(response, asked);
  };

  const { connect, asked } = await answering(answer);
  return {
    connect,
    find: (plural: string, key: string) => all.get(`${plural}/${key}`),
    events: () => events,
    /** Method, path and query of everything that was asked. */
    asked: () => asked.map(({ line }) => line),
    /** Those of all that was written, but for Events. */
    writes: () => asked.map(({ line }) => line).filter((line) => !line.startsWith('GET') && !line.includes('/events')),
  };
}

/** RFC 7396. */
function merge(target: unknown, patch: unknown): unknown {
  const given = members.safeParse(patch).data;
  if (!given) return patch;
  const known = members.safeParse(target).data ?? {};
  const merged = Object.entries(given).map(([name, value]) => [name, merge(known[name], value)] as const);
  return Object.fromEntries(Object.entries({ ...known, ...Object.fromEntries(merged) }).filter(([, v]) => v !== null));
}
