/** Names of objects for resources, taken from a name or description if there is one, else from the id. */

/** Members by which people recognise a resource, best first. */
const TELLING = ['domain', 'name', 'subject_common_name', 'description'];

const MAX_LENGTH = 50;
const SUFFIX_LENGTH = 6;

/** The name that a resource asks for; others may ask for the same. */
export function wantedName(resource: object): string {
  const members = new Map<string, unknown>(Object.entries(resource));
  const texts = TELLING.map((member) => members.get(member)).filter((value) => typeof value === 'string');
  return texts.map(slug).find((name) => name !== '') ?? nameOfId(String(members.get('id')));
}

interface Identified {
  readonly id: string;
}

/** The resources of a kind, oldest first. */
interface OfKind {
  readonly kind: { readonly kind: string; readonly delivery?: unknown };
  readonly resources: readonly Identified[];
}

/** The objects by the ids of their resources. Objects whose kinds write Secrets share the names of those. */
export function namesOf(found: readonly OfKind[]): Map<string, { kind: string; name: string }> {
  const [writing, others] = [found.filter(({ kind }) => kind.delivery), found.filter(({ kind }) => !kind.delivery)];
  const sharing = writing.flatMap(({ resources }) => resources).sort(byAgeAcrossKinds);
  const groups = [sharing, ...others.map(({ resources }) => resources)];
  const names = new Map(groups.flatMap((resources) => [...objectNames(resources)]));
  return new Map(
    found.flatMap(({ kind: { kind }, resources }) =>
      resources.map(({ id }) => [id, { kind, name: names.get(id) ?? nameOfId(id) }] as const),
    ),
  );
}

/** Ids sort by creation; the id of a nested resource begins with its parent's. */
export const byAge = (a: Identified, b: Identified) => (a.id < b.id ? -1 : 1);

/** Without the prefix of the family. */
const byAgeAcrossKinds = (a: Identified, b: Identified) => (ageIn(a.id) < ageIn(b.id) ? -1 : 1);

const ageIn = (id: string) => id.slice(id.indexOf('_'));

/**
 * The names of resources, oldest first. The oldest keeps a name that several ask for; the others get the end of their id
 * appended.
 */
export function objectNames(resources: readonly Identified[]): Map<string, string> {
  const taken = new Set<string>();
  return new Map(
    resources.map((resource) => {
      const wanted = wantedName(resource);
      const free = [wanted, `${wanted}-${resource.id.slice(-SUFFIX_LENGTH)}`, nameOfId(resource.id)];
      const name = free.find((each) => !taken.has(each)) ?? nameOfId(resource.id);
      taken.add(name);
      return [resource.id, name];
    }),
  );
}

/** As in RFC 1123; `any-` tells a wildcard from its domain. */
function slug(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{Mark}/gu, '')
    .replaceAll('*', 'any')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LENGTH)
    .replaceAll(/^-+|-+$/g, '');
}

export const nameOfId = (id: string) => id.replaceAll(/[^a-z0-9]+/g, '-');
