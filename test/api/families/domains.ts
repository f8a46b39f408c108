/** Reserved domains that a caller creates and changes. Only for test files. */
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import type { Caller } from '../harness.ts';

export const PATH = '/reserved_domains';

export function domainsOf(caller: Caller) {
  let count = 0;
  const fresh = () => `d${++count}.example.org`;
  const create = async (body: object = {}) =>
    (await caller.post(PATH, { domain: fresh(), ...body })).as(reservedDomain.view);
  const get = async (id: string) => (await caller.get(`${PATH}/${id}`)).as(reservedDomain.view);
  const patch = async (id: string, body: object) => (await caller.patch(`${PATH}/${id}`, body)).as(reservedDomain.view);
  return { fresh, create, get, patch };
}
