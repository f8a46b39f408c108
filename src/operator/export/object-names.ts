/** Names of objects for resources, which have none: from what people call them, else from the id. */

/** The members that people recognise a resource by, the best first. */
const TELLING = ['domain', 'name', 'subject_common_name', 'description'];

const MAX_LENGTH = 50;
const SUFFIX_LENGTH = 6;

/** The name that a resource asks for; others may ask for the same. */
export function wantedName(resource: object): string {
  const members = new Map<string, unknown>(Object.entries(resource));
  const texts = TELLING.map((member) => members.get(member)).filter((value) => typeof value === 'string');
  return texts.map(slug).find((name) => name !== '') ?? nameOfId(String(members.get('id')));
}

/**
 * The names of resources, in their order: the oldest comes first, so that it keeps its name when others come that ask for
 * the same. Those have the end of their ids in theirs.
 * @param taken names that are no longer free; receives those that are given away
 */
export function objectNames(resources: readonly { id: string }[], taken: Set<string>): Map<string, string> {
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

/** As in RFC 1123; a wildcard is told from the domain that it is below. */
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
