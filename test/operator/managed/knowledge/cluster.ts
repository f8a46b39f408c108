/** The contents of the caches, for tests of the inputs of a spec. */
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { ObjectStore } from '../../../../src/operator/kube/object-store.ts';
import { digester } from '../../../../src/operator/managed/declaration/digest.ts';
import { Reference } from '../../../../src/operator/managed/declaration/input.ts';
import { Inputs, type InputsOptions, type Peer } from '../../../../src/operator/managed/knowledge/inputs.ts';
import { ReferenceIndex } from '../../../../src/operator/managed/knowledge/reference-index.ts';
import { object } from '../../objects.ts';

export const deletionTimestamp = '2026-11-21T10:00:00Z';
export const digest = digester('key');

export const grant = (from: string, name: string, namespace = 'there') =>
  object({
    name: `${from}-${name}`,
    metadata: { namespace },
    spec: {
      from: [{ group: 'tunnel-operator.dev', kind: 'TLSEdge', namespace: from }],
      to: [{ group: 'tunnel-operator.dev', kind: 'IPPolicy', name }],
    },
  });

/** @param objects by kind; `texts` by the name of their Secret */
export function cluster(
  objects: Readonly<Record<string, readonly KubeObject[]>>,
  {
    texts = {},
    peers = {},
    ...options
  }: Partial<InputsOptions> & {
    texts?: Readonly<Record<string, string>>;
    peers?: Readonly<Record<string, Partial<Peer>>>;
  } = {},
) {
  const inputs = new Inputs({
    index: new ReferenceIndex(),
    sources: {
      versionOf: ({ name }) => (name in texts ? '7' : undefined),
      reader:
        () =>
        async ({ name }) => ({ text: String(texts[name]), resourceVersion: '7' }),
    },
    grants: new ObjectStore(),
    digest,
    ...options,
  });
  for (const kind of new Set([...Object.keys(objects), ...Object.keys(peers)])) {
    const store = new ObjectStore();
    for (const each of objects[kind] ?? []) store.put(each);
    inputs.addPeer(kind, { store, enqueue: () => {}, ...peers[kind] });
  }
  return inputs;
}

export const to = (name: string, more: { namespace?: string; isImmutable?: boolean } = {}) =>
  new Reference({ kind: 'IPPolicy', name, ...more });
export const policy = (name: string, id?: string, metadata: Partial<KubeObject['metadata']> = {}) =>
  object({ name, metadata, ...(id === undefined ? {} : { status: { id } }) });
