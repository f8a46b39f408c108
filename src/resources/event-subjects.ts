/** What has events of its own: each family, followed by its modules, with three types each; and certificates. */
import { moduleSubject } from './definition/module.ts';
import { eventTypes } from './definition/resource.ts';
import { FAMILIES } from './families.ts';
import { ALL_MODULES } from './modules.ts';
import { reservedDomain } from './reserved-domain.ts';

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

/** What becomes of the automatic certificate of a reserved domain, which the service changes by itself. */
export const CERTIFICATE_EVENTS = {
  issued: 'The first automatic certificate of a reserved domain was issued.',
  renewed: 'The automatic certificate of a reserved domain was renewed.',
  failed: 'An automatic certificate of a reserved domain could not be issued; it is tried again.',
} as const;
export type CertificateEvent = keyof typeof CERTIFICATE_EVENTS;

export const certificateEventType = (kind: string) => `${reservedDomain.name}_certificate_${kind}.v0`;

/** The event types of this release. */
export const EVENT_TYPES: readonly string[] = [
  ...EVENT_SUBJECTS.flatMap(({ name }) => Object.values(eventTypes(name))),
  ...Object.keys(CERTIFICATE_EVENTS).map(certificateEventType),
];
