/** Which modules a resource had when, as its events tell. */
import { z } from 'zod';

const snakeCase = (member: string) => member.replace(/[A-Z]/g, (initial) => `_${initial.toLowerCase()}`);

const typed = z.object({ type: z.string() });
const MODULE_EVENT = /^(?:https_edge_route|tls_edge)_(.+)_(created|updated|deleted)\.v0$/;

/**
 * The modules of a resource after each of its events.
 * @param members of the spec before the first event: the modules, and references
 * @param events rows with their types
 */
export function revisionsOf(members: readonly string[], events: readonly unknown[]): string[][] {
  const modules = new Set(members.filter((member) => !member.endsWith('Ref')).map(snakeCase));
  return z
    .array(typed)
    .parse(events)
    .map(({ type }) => {
      const [, name = type, change] = MODULE_EVENT.exec(type) ?? [];
      if (change === 'deleted') modules.delete(name);
      else modules.add(name);
      return [...modules];
    });
}
