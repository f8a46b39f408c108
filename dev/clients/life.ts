/**
 * The life cycle of every family, as calls of a generated client: create, list, update, delete; and for each of its
 * modules: replace, get, delete.
 */
import { z } from 'zod';
import { openApiDocument } from '../../src/api/openapi/document.ts';
import type { Resource } from '../../src/resources/definition/resource.ts';
import type { Body } from '../../src/resources/definition/samples.ts';
import { FAMILIES } from '../../src/resources/families.ts';
import { LEAST_OF_MODULES, MODULES } from '../fixtures/modules.ts';
import { fill, namesIn } from '../fixtures/placeholders.ts';
import { sampleValues } from '../fixtures/sample-values.ts';
import { listPath, neededBy, numbered } from '../fixtures/samples.ts';

export interface Call {
  readonly method: 'POST' | 'GET' | 'PATCH' | 'PUT' | 'DELETE';
  /** As in the OpenAPI document. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  /** The schema of the body. */
  readonly schema?: string;
  /** Path parameters; values may be placeholders of earlier results, as those in the body. */
  readonly params: Readonly<Record<string, string>>;
  readonly body?: Body;
  /** The name under which later calls refer to the result. */
  readonly result?: string;
  /** The list in the result. */
  readonly collection?: string;
}

const described = z.object({ operationId: z.string(), tags: z.tuple([z.string()]) });
const paths = z.record(z.string(), z.record(z.string(), described)).parse(openApiDocument().paths);

function called(
  method: Call['method'],
  path: string,
  rest: Omit<Call, 'method' | 'path' | 'operationId' | 'tag'>,
): Call {
  const found = paths[path]?.[method.toLowerCase()];
  if (!found) throw new Error(`${method} ${path} is not documented`);
  return { method, path, operationId: found.operationId, tag: found.tags[0], ...rest };
}

/** Every call; results are named after families and numbers. */
export async function livesOfAllFamilies(): Promise<Call[]> {
  const values = await sampleValues();
  return FAMILIES.flatMap((family, index) => lifeOf(family, index, values));
}

function lifeOf(family: Resource, index: number, values: object): Call[] {
  const { samples, title, path, collection } = family;
  const known: Record<string, unknown> = { ...values, ...numbered(30_000 + index) };
  const modules = MODULES.filter(({ of }) => of === family).map(({ name, title }) => {
    const least = LEAST_OF_MODULES[title];
    if (!least) throw new Error(`there is no sample of ${title}`);
    return { name, title, least };
  });
  const needed = neededBy(family, { ...samples.full, modules: modules.map(({ least }) => least) });
  const name = (of: Resource) => `${of.name}_${index}`;
  for (const other of needed) {
    // Remains a placeholder, for this family's own result.
    known[other.name] = { id: `{${name(other)}.id}`, domain: `{${name(other)}.domain}` };
  }
  const paramsOf = (of: Resource): Record<string, string> =>
    of.parent ? { [of.parent.parameter]: String(fill(`{${namesIn(listPath(of))[0]}.id}`, known)) } : {};
  const create = (of: Resource, body: Body, result: string) =>
    called('POST', of.path, { params: paramsOf(of), body: fill(body, known), schema: `${of.title}Create`, result });
  const mine = `own_${index}`;
  const own = { ...paramsOf(family), id: `{${mine}.id}` };
  const single = `${path}/{id}`;
  return [
    ...needed.map((other) => create(other, other.samples.least, name(other))),
    create(family, samples.full, mine),
    called('GET', path, { params: paramsOf(family), collection }),
    called('PATCH', single, { params: own, body: fill(samples.change, known), schema: `${title}Update` }),
    ...modules.flatMap((module) => {
      const address = `${single}/${module.name}`;
      return [
        called('PUT', address, { params: own, body: fill(module.least, known), schema: `${module.title}Replace` }),
        called('GET', address, { params: own }),
        called('DELETE', address, { params: own }),
      ];
    }),
    called('DELETE', single, { params: own }),
  ];
}
