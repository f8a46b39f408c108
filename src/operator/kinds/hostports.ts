/** The hostports of HTTPS and TLS edges. */
import { z } from 'zod';
import { hostports } from '../../resources/hostports.ts';

const declared = z.object({ hostports: hostports.input.optional() });
const shown = z.object({ hostports: hostports.view });

/** The update that removes the hostports that the spec does not have; undefined if there are none. */
export function hostportsGivenUp(spec: object, remote: object) {
  const wanted = declared.parse(spec).hostports ?? [];
  const { hostports: current } = shown.parse(remote);
  const kept = current.filter((each) => wanted.includes(each));
  return kept.length < current.length ? { hostports: kept } : undefined;
}
