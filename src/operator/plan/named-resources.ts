/** Resources that specs name by id, not by the name of an object: whether the API has them. */
import { ApiError, type Client } from '../../client/client.ts';
import { idOf } from '../../resources/definition/id.ts';
import { user } from '../../resources/user.ts';
import { REASON } from '../contract/reasons.ts';
import type { DerivedKind } from '../export/spec-members.ts';
import { ifExists } from '../kinds/external-of-family.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { Blocked, type Remote } from '../managed/declaration/external.ts';
import { namedById } from '../managed/object/permissions.ts';

export class NamedResources {
  readonly #kinds: readonly DerivedKind[];
  readonly #client: Client;
  readonly #found = new Map<string, Promise<boolean>>();

  constructor(kinds: readonly DerivedKind[], client: Client) {
    this.#kinds = kinds;
    this.#client = client;
  }

  /**
   * @param current the resource that the object updates in place; it may keep references that it already has
   * @throws Blocked naming the members whose resources do not exist
   */
  async mustExist({ spec }: KubeObject, current: Remote | undefined): Promise<void> {
    const known = JSON.stringify(current ?? {});
    const named = namedById(spec).filter(({ id }) => !known.includes(JSON.stringify(id)));
    const exists = await Promise.all(named.map(({ id }) => this.#exists(id)));
    const missing = named.filter((_, index) => !exists[index]);
    if (missing.length > 0)
      throw new Blocked(REASON.rejected, missing.map(({ path, id }) => `${path}: ${id} does not exist`).join('; '));
  }

  #exists(id: string): Promise<boolean> {
    const known = this.#found.get(id) ?? this.#find(id);
    this.#found.set(id, known);
    return known;
  }

  async #find(id: string): Promise<boolean> {
    if (idOf(user.prefix).safeParse(id).success) return this.#isThere(this.#client.users.get(id));
    for (const kind of this.#kinds) {
      if (!('family' in kind)) continue;
      const external = kind.external(this.#client);
      if (external.isId(id)) return this.#isThere(kind.calls(this.#client).get(id));
    }
    // The API refuses text that is not an id.
    return true;
  }

  /** A resource that the API key may not see may exist. */
  async #isThere(call: Promise<unknown>): Promise<boolean> {
    try {
      if ((await ifExists(call)) !== undefined) return true;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'PERMISSION_DENIED') return true;
      throw error;
    }
    return (await ifExists(this.#client.whoami()))?.admin === false;
  }
}
