/** Values that no two resources may have: which objects of the files ask for what another one has or gets first. Pure. */
import { type DerivedKind, isAttached } from '../export/spec-members.ts';
import type { FamilyField } from '../kinds/family-fields.ts';
import type { ManagedSpec } from '../managed/declaration/spec.ts';
import type { Planned } from './planned.ts';

export interface Asking {
  readonly planned: Planned;
  readonly kind: DerivedKind;
  /** Resolved, with its values in normal form. */
  readonly spec: ManagedSpec;
}

/** The plans that cannot succeed, with those that take their place. @param all in the order of the files */
export function refusedDuplicates(all: readonly Asking[]): Map<Planned, Planned> {
  const refused = new Map<Planned, Planned>();
  const holders = new Map<string, Planned>();
  const values = all.flatMap((asking) => uniqueValues(asking));
  // What exists keeps its values.
  for (const { planned, member, key } of [...values.filter(isKept), ...values.filter((each) => !isKept(each))]) {
    const holder = holders.get(key);
    if (!holder) holders.set(key, planned);
    else if (holder !== planned) refused.set(planned, duplicate(planned, member, holder));
  }
  return refused;
}

interface UniqueValue {
  readonly planned: Planned;
  readonly member: string;
  /** Of the others with which the value must be unique. */
  readonly within: readonly string[];
  readonly key: string;
}

function uniqueValues({ planned, kind, spec }: Asking): UniqueValue[] {
  if (isAttached(kind)) return [];
  const members = new Map<string, unknown>(Object.entries(spec));
  return kind.fields.flatMap(({ name, member, field }) => {
    if (field.unique === undefined) return [];
    const others = field.unique === true ? [] : field.unique.within;
    const within = others.map((other) => memberOf(kind.fields, other));
    const key = JSON.stringify([kind.kind, name, ...[member, ...within].map((each) => members.get(each))]);
    return [{ planned, member, within, key }];
  });
}

const memberOf = (fields: readonly FamilyField[], name: string) =>
  fields.find((field) => field.name === name)?.member ?? name;

/** Whether the resource has the value already. */
function isKept({ planned: { action, changes }, member, within }: UniqueValue): boolean {
  const changed = changes.map(({ path }) => path);
  return (
    (action === 'none' || action === 'change') && ![member, ...within].some((each) => changed.includes(`spec.${each}`))
  );
}

function duplicate(planned: Planned, member: string, { kind, namespace, name }: Planned): Planned {
  const reason = `spec.${member}: ${kind} ${namespace}/${name} has the same`;
  return { ...planned, action: 'blocked', reason, changes: [] };
}
