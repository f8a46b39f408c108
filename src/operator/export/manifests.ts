/** The manifests of everything that an API holds. */
import { ApiError, type Client } from '../../client/client.ts';
import { ANNOTATION, API_VERSION } from '../contract/names.ts';
import { familyFields, isDeclarable } from '../kinds/family-fields.ts';
import type { AnyPlainKind } from '../kinds/plain-kind.ts';
import type { Remote } from '../managed/external.ts';
import { declarationOf, type NeededSecret } from './declaration.ts';
import { objectNames } from './object-names.ts';
import { specMembers } from './spec-members.ts';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { name: string; namespace?: string; annotations: Record<string, string> };
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface Exported {
  readonly manifest: Manifest;
  /** What is left for the user to do, a line each. */
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

/** @throws ApiError, ApiUnreachableError */
export async function manifestsOf(
  client: Client,
  { kinds, namespace }: { kinds: readonly AnyPlainKind[]; namespace?: string | undefined },
): Promise<Export> {
  const found: Found[] = [];
  const refused: { kind: string; reason: string }[] = [];
  const { api_key: ownKey } = await client.whoami();
  for (const kind of kinds) {
    try {
      const all: Remote[] = await Array.fromAsync(kind.external(client).all());
      const resources = all.filter(({ id }) => id !== ownKey.id);
      found.push({ kind, resources: resources.sort(byAge) });
      if (resources.length < all.length) {
        const reason = `${ownKey.id} is the key that this was read with; an object could rotate or delete it`;
        refused.push({ kind: `${kind.kind} ${ownKey.id}`, reason });
      }
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 403)) throw error;
      refused.push({ kind: kind.kind, reason: error.message });
    }
  }
  const names = namesOf(found);
  const objectOf = (id: string) => names.get(id);
  const objects = found.flatMap(({ kind, resources }) =>
    resources.map((resource): Exported => {
      const name = names.get(resource.id)?.name ?? '';
      const secretName = `${name}-${kind.singular}`;
      const { spec, secrets } = declarationOf(specMembers(kind, resource), { secretName, objectOf });
      const metadata = { name, ...(namespace && { namespace }), annotations: { [ANNOTATION.adopt]: resource.id } };
      const manifest = { apiVersion: API_VERSION, kind: kind.kind, metadata, spec };
      return { manifest, remarks: [...secrets.map(aboutSecret), ...aboutToken(kind, name)] };
    }),
  );
  return { objects, refused };
}

/** Ids sort by creation; that of a part begins with that of its whole. */
const byAge = (a: Remote, b: Remote) => (a.id < b.id ? -1 : 1);

/** The objects by the ids of their resources. */
function namesOf(found: readonly Found[]): Map<string, { kind: string; name: string }> {
  // Objects whose kinds write Secrets share the names of those.
  const writing = new Set<string>();
  return new Map(
    found.flatMap(({ kind, resources }) => {
      const names = objectNames(resources, kind.delivery ? writing : new Set());
      return [...names].map(([id, name]) => [id, { kind: kind.kind, name }] as const);
    }),
  );
}

function aboutSecret({ name, keys }: NeededSecret): string {
  const which = keys.length === 1 ? `the key ${keys[0]}` : `the keys ${keys.join(' and ')}`;
  return `Before you apply this: create the Secret ${name} with ${which}, since the API shows no secrets. It must hold what the resource has now: with anything else, the resource is changed or replaced.`;
}

function aboutToken(kind: AnyPlainKind, name: string): string[] {
  const hidden = familyFields(kind.family).find((given) => !isDeclarable(given) && given.field.storage === 'none');
  if (!hidden || !kind.delivery) return [];
  const command = `kubectl annotate ${kind.plural} ${name} ${ANNOTATION.rotateRequestedAt}="$(date)"`;
  return [
    `The API does not show the ${hidden.name.replaceAll('_', ' ')} again: it goes on to work, but is in no Secret, and the object not Ready, until you ask for a new one: ${command}`,
  ];
}
