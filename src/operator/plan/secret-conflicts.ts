/** Secrets that belong to something else, so that nothing can be delivered into them. */
import { z } from 'zod';
import { KubeError } from '../kube/kube-error.ts';
import { type KubeObject, keyOf } from '../kube/kube-object.ts';
import { mayExist } from '../managed/declaration/external.ts';
import { type Handout, issuedAtIn, valueIn } from '../managed/declaration/handout.ts';
import type { ManagedSpec } from '../managed/declaration/spec.ts';
import { type Handed, type SecretSpec, secretBody, secretNameOf, storedValue } from '../managed/secrets/content.ts';
import { requireOwnership } from '../managed/secrets/ownership.ts';
import { requireSecretType, requireWritable } from '../managed/secrets/unwritable-secret.ts';
import type { AnyExternal, Decision } from './decision.ts';
import type { ObjectName } from './declared-objects.ts';
import { isNew, NOT_CREATED } from './desired-cluster.ts';

export interface SecretConflictsOptions {
  /** The Secret as the cluster has it. */
  find(name: SecretName): Promise<KubeObject | undefined>;
  /** Whether the files have such a Secret. */
  isDeclared(name: SecretName): boolean;
  /** Whether objects of the namespace may adopt existing resources. */
  mayAdopt(namespace: string): boolean;
  /** Receives what could not be checked, and why. */
  note(text: string): void;
}

type SecretName = Pick<ObjectName, 'namespace' | 'name'>;

/** What is to be delivered. */
export interface PlannedDelivery {
  readonly handout: Handout;
  readonly external: AnyExternal;
  readonly object: KubeObject;
  readonly spec: ManagedSpec;
  readonly decision: Decision;
}

export class SecretConflicts {
  readonly #options: SecretConflictsOptions;
  /** Secrets that the objects of the files will create. */
  readonly #toCome = new Map<string, KubeObject>();

  constructor(options: SecretConflictsOptions) {
    this.#options = options;
  }

  /**
   * Of several objects that would make the same Secret, the one whose turn comes first does.
   * @throws Blocked when the operator would not write to the Secret
   */
  async mustHaveNone(delivery: PlannedDelivery, turn: Promise<void>): Promise<void> {
    const { handout, external, object, decision } = delivery;
    const spec = delivering.parse(delivery.spec);
    const { kind = '', metadata } = object;
    const name = { namespace: metadata.namespace ?? '', name: secretNameOf(handout, object, spec) };
    const found = await this.#find(name);
    await turn;
    if (found === 'forbidden') return;
    const existing = found ?? this.#toCome.get(keyOf({ metadata: name }));
    if (existing) {
      const exists = this.#options.mayAdopt(name.namespace) ? (id: string) => mayExist(external, id) : undefined;
      await requireOwnership(handout, existing, object, decision.remote?.id, exists);
      requireSecretType(handout, existing);
      const handed = handedNow(handout, existing, decision);
      requireWritable(existing, handed && secretBody(handout, object, spec, handed, existing).data);
      return;
    }
    if (this.#options.isDeclared(name)) {
      const both = `is in the files, and ${kind} ${keyOf(object)} delivers into it`;
      this.#options.note(`Secret ${keyOf({ metadata: name })} ${both}: whichever comes first keeps the other from it`);
    }
    this.#toCome.set(keyOf({ metadata: name }), secretToCome(handout, object, spec));
  }

  async #find(name: SecretName): Promise<KubeObject | 'forbidden' | undefined> {
    try {
      return await this.#options.find(name);
    } catch (error) {
      if (!(error instanceof KubeError && error.isForbidden)) throw error;
      const whose = `whether Secret ${keyOf({ metadata: name })} belongs to something else`;
      this.#options.note(`${whose} was not checked: ${error.message}`);
      return 'forbidden';
    }
  }
}

const delivering = z.looseObject({ secret: z.looseObject({ name: z.string().optional(), key: z.string() }) });

/** Undefined if it does not exist yet. */
function handedNow(handout: Handout, existing: KubeObject, decision: Decision): Handed | undefined {
  const { action, remote, isRotated } = decision;
  if (!remote || action === 'replace' || isRotated) return undefined;
  const issue = { id: remote.id, issuedAt: issuedAtIn(handout, remote) };
  const value = valueIn(handout, remote) ?? storedValue(handout, existing, issue);
  return value === undefined ? undefined : { ...issue, value };
}

/** Only its owner, which is all that other objects check. */
function secretToCome(handout: Handout, object: KubeObject, spec: SecretSpec): KubeObject {
  const uid = isNew(object) ? 'yet to be given' : object.metadata.uid;
  const owner = { ...object, metadata: { ...object.metadata, uid } };
  const body = secretBody(handout, owner, spec, { id: '', value: '' });
  return { ...body, metadata: { ...NOT_CREATED, ...body.metadata } };
}
