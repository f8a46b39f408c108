/** What has events of its own: each family, followed by its modules. Three types of events for each. */
import { moduleSubject } from './definition/module.ts';
import { eventTypes } from './definition/resource.ts';
import { FAMILIES } from './families.ts';
import { ALL_MODULES } from './modules.ts';

export interface EventSubject {
  /** As in the names of its event types. */
  readonly name: string;
  readonly family: string;
  readonly module?: string;
}

export const EVENT_SUBJECTS: readonly EventSubject[] = FAMILIES.flatMap((family) => [
  { name: family.name, family: family.name },
  ...ALL_MODULES.filter(({ of }) => of.name === family.name).map((module) => ({
    name: moduleSubject(module),
    family: family.name,
    module: module.name,
  })),
]);

/** The event types of this release. */
export const EVENT_TYPES: readonly string[] = EVENT_SUBJECTS.flatMap(({ name }) => Object.values(eventTypes(name)));
