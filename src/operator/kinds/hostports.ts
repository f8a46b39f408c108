/** What edges of both kinds have in common: where they listen. */
import { z } from 'zod';
import { hostports } from '../../resources/hostports.ts';

const declared = z.object({ hostports: hostports.input.optional() });
const shown = z.object({ hostports: hostports.view });

/** The update that leaves an edge those of its hostports that the spec asks for; undefined if there are no others. */
export function hostportsGivenUp(spec: object, remote: object) {
  const wanted = declared.parse(spec).hostports ?? [];
  const { hostports: current } = shown.parse(remote);
  const kept = current.filter((each) => wanted.includes(each));
  return kept.length < current.length ? { hostports: kept } : undefined;
}
