/** A declared kind at work: connected to the management API, and to the Secrets that it delivers to. */
import type { Client } from '../../client/client.ts';
import { GROUP, VERSION } from '../contract/names.ts';
import type { ResourceType } from '../kube/kube-api.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import type { Delivery, External, Remote } from './external.ts';
import type { AnyKind } from './kind.ts';
import type { SecretAccess } from './secrets/secret-access.ts';
import { type ManagedSpec, readSpec } from './spec.ts';

export class ConnectedKind {
  /** As in `kind:` of its manifests. */
  readonly name: string;
  readonly type: ResourceType;
  readonly external: External<ManagedSpec, Remote>;
  readonly delivery: Delivery<ManagedSpec, Remote> | undefined;
  readonly #declared: AnyKind;

  constructor(declared: AnyKind, client: Client, secrets: SecretAccess) {
    this.name = declared.kind;
    this.type = { group: GROUP, version: VERSION, plural: declared.plural };
    this.external = declared.external(client);
    this.delivery = declared.delivery?.(secrets);
    this.#declared = declared;
  }

  /** @throws Blocked naming every field that does not fit */
  readSpec(object: KubeObject): ManagedSpec {
    return readSpec(this.#declared.spec, object);
  }

  /** Undefined for a spec that does not parse: that is for the object's own reconcile to say. */
  specIfValid(object: KubeObject): ManagedSpec | undefined {
    return this.#declared.spec.safeParse(object.spec ?? {}).data;
  }

  /** What the status shows of the resource, beside id, uri and conditions. */
  describe(spec: ManagedSpec, remote: Remote, object: KubeObject): Record<string, unknown> {
    return this.#declared.describe(spec, remote, object);
  }

  /** Whether what was handed out is in its place, by what the caches say; never asks the API server. */
  looksHeld(object: KubeObject): boolean {
    const spec = this.specIfValid(object);
    return spec !== undefined && (this.delivery?.looksHeld(object, spec) ?? true);
  }
}
