/** The manifests of everything that an API holds. */
import { z } from 'zod';
import { ApiError, type Client } from '../../client/client.ts';
import { ANNOTATION, API_VERSION } from '../contract/names.ts';
import type { AttachedKind } from '../kinds/attached-kind.ts';
import { familyFields, isDeclarable } from '../kinds/family-fields.ts';
import type { AnyPlainKind } from '../kinds/plain-kind.ts';
import type { Remote } from '../managed/declaration/external.ts';
import { declarationOf, type NeededSecret } from './declaration.ts';
import { aboutManager, managersOf } from './managers.ts';
import { byAge, nameOfId, namesOf, objectNames } from './object-names.ts';
import { type DerivedKind, exportedMembers, isAttached } from './spec-members.ts';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface Exported {
  readonly manifest: Manifest;
  /** Steps left to the user, one line each. */
  readonly remarks: readonly string[];
}

export interface Export {
  readonly objects: readonly Exported[];
  /** Kinds whose resources the API key may not list, with the reason. */
  readonly refused: readonly { kind: string; reason: string }[];
}

interface Found {
  kind: AnyPlainKind;
  resources: Remote[];
}

/** The owner of modules, with the name of its object. */
interface FoundModules {
  kind: AttachedKind;
  owners: { owner: Remote; name: string }[];
}

export interface ExportOptions {
  kinds: readonly AnyPlainKind[];
  attachedKinds: readonly AttachedKind[];
  /** Kinds that are not exported, but share names with those that are. */
  sharingNames: readonly AnyPlainKind[];
  namespace?: string | undefined;
}

/** @throws ApiError, ApiUnreachableError */
export async function manifestsOf(client: Client, options: ExportOptions): Promise<Export> {
  const { kinds, attachedKinds, sharingNames, namespace } = options;
  const refused: { kind: string; reason: string }[] = [];
  const caller = await client.whoami();
  const { api_key: ownKey } = caller;
  const now = client.now();
  const read = async (kind: AnyPlainKind): Promise<Found> => {
    const all: Remote[] = await Array.fromAsync(kind.external(client).all());
    return { kind, resources: all.filter((each) => !kind.isBuiltIn?.(each)).sort(byAge) };
  };
  const listed = await eachAllowed(kinds, refused, read);
  // Names do not depend on which kinds are exported, or with which key.
  const names = namesOf([...listed, ...(await eachAllowed(sharingNames, [], read))]);
  const found = listed.map(({ kind, resources }): Found => {
    const others = resources.filter(({ id }) => id !== ownKey.id);
    if (others.length < resources.length) {
      const reason = `${ownKey.id} is the key that this was read with; an object could rotate or delete it`;
      refused.push({ kind: `${kind.kind} ${ownKey.id}`, reason });
    }
    return { kind, resources: others };
  });
  const modules = await eachAllowed(attachedKinds, refused, (kind) => modulesOf(kind, client));
  const exportedIds = new Set(found.flatMap(({ resources }) => resources.map(({ id }) => id)));
  const managersKnownTo = (calls: Client['resourceManagers'], remotes: readonly Remote[]) =>
    managersOf(calls, caller.admin ? remotes.map(({ id }) => id) : []);
  const ofResources = await managersKnownTo(
    client.resourceManagers,
    found.flatMap(({ resources }) => resources),
  );
  const ofModules = await managersKnownTo(
    client.moduleManagers,
    modules.flatMap(({ owners }) => owners.map(({ owner }) => owner)),
  );
  const objectOf = (id: string) => (exportedIds.has(id) ? names.get(id) : undefined);
  const exported = (
    kind: DerivedKind,
    name: string,
    remote: Remote,
    annotations?: Record<string, string>,
  ): Exported => {
    const secretName = `${name}-${kind.singular}`;
    const { spec, secrets } = declarationOf(exportedMembers(kind, remote, now), { secretName, objectOf });
    const metadata = { name, ...(namespace && { namespace }), ...(annotations && { annotations }) };
    const ofKind = isAttached(kind)
      ? []
      : [...aboutToken(kind, name, namespace), ...(kind.remarks?.(remote, now) ?? [])];
    const manager = (isAttached(kind) ? ofModules : ofResources).get(remote.id);
    const remarks = [...(manager ? [aboutManager(manager)] : []), ...secrets.map(aboutSecret), ...ofKind];
    return { manifest: { apiVersion: API_VERSION, kind: kind.kind, metadata, spec }, remarks };
  };
  const objects = [
    ...found.flatMap(({ kind, resources }) =>
      resources.map((resource) =>
        exported(kind, names.get(resource.id)?.name ?? '', resource, { [ANNOTATION.adopt]: resource.id }),
      ),
    ),
    // Their spec names the owner.
    ...modules.flatMap(({ kind, owners }) => owners.map(({ owner, name }) => exported(kind, name, owner))),
  ];
  return { objects, refused };
}

/** The results for the kinds that the API key may read; the others are listed as refused. */
async function eachAllowed<Kind extends DerivedKind, Result>(
  kinds: readonly Kind[],
  refused: { kind: string; reason: string }[],
  read: (kind: Kind) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const kind of kinds) {
    try {
      results.push(await read(kind));
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 403)) throw error;
      refused.push({ kind: kind.kind, reason: error.message });
    }
  }
  return results;
}

const someModules = z.object({ modules: z.record(z.string(), z.unknown()) });

/** Objects of modules have the names of their owners' objects, even if those are not exported. */
async function modulesOf(kind: AttachedKind, client: Client): Promise<FoundModules> {
  const all: Remote[] = await Array.fromAsync(kind.owners(client).list());
  const names = objectNames(all.sort(byAge));
  const owners: Remote[] = await Array.fromAsync(kind.external(client).all());
  const withSome = owners.filter((owner) => Object.keys(someModules.parse(owner).modules).length > 0).sort(byAge);
  return { kind, owners: withSome.map((owner) => ({ owner, name: names.get(owner.id) ?? nameOfId(owner.id) })) };
}

function aboutSecret({ name, keys }: NeededSecret): string {
  const which = keys.length === 1 ? `the key ${keys[0]}` : `the keys ${keys.join(' and ')}`;
  return `Before you apply this: create the Secret ${name} with ${which}, since secrets are never exported. It must hold what the resource has now: with anything else, the resource is changed or replaced. Without it, the object waits (SourceNotFound), and nothing is changed.`;
}

function aboutToken(kind: AnyPlainKind, name: string, namespace: string | undefined): string[] {
  const hidden = familyFields(kind.family).find((given) => !isDeclarable(given) && given.field.storage === 'none');
  if (!hidden || !kind.delivery) return [];
  const command = ['kubectl', ...(namespace ? ['-n', namespace] : []), 'annotate', kind.plural, name].join(' ');
  return [
    `The API does not show the ${hidden.name.replaceAll('_', ' ')} again. The one in use keeps working, but it is in no Secret, and the object is not Ready until you ask for a new one: ${command} ${ANNOTATION.rotateRequestedAt}="$(date)"`,
  ];
}
