/** From a zod view to the JSON schema that fast-json-stringify turns into code, which is what makes answers fast. */
import { z } from 'zod';

interface Node {
  [keyword: string]: unknown;
}

const node: z.ZodType<Node> = z.record(z.string(), z.unknown());

/** Keywords that decide how a value is written; all others only cost time, since views are correct by construction. */
const SHAPE = ['type', 'properties', 'required', 'items', 'additionalProperties', 'anyOf'] as const;

/** The schema by which Fastify writes answers of this view. */
export function serializerSchema(view: z.ZodType): Node {
  const whole = node.parse(z.toJSONSchema(view, { io: 'output', target: 'draft-7' }));
  const definitions = z.record(z.string(), node).parse(whole.definitions ?? {});
  return simplify(whole, definitions);
}

function simplify(schema: Node, definitions: Record<string, Node>): Node {
  if (typeof schema.$ref === 'string') {
    const target = definitions[schema.$ref.replace('#/definitions/', '')];
    if (!target) throw new Error(`no definition ${schema.$ref}`);
    return simplify(target, definitions);
  }
  const nested = (value: unknown) => simplify(node.parse(value), definitions);
  const result: Node = {};
  for (const keyword of SHAPE) {
    const value = schema[keyword];
    if (value === undefined) continue;
    if (keyword === 'properties') {
      const members = Object.entries(node.parse(value)).map(([name, member]) => [name, nested(member)]);
      result.properties = Object.fromEntries(members);
    } else if (keyword === 'items' || (keyword === 'additionalProperties' && typeof value === 'object')) {
      result[keyword] = nested(value);
    } else if (keyword === 'anyOf') {
      Object.assign(result, nullable(z.array(z.unknown()).parse(value).map(nested)));
    } else if (keyword !== 'additionalProperties') {
      result[keyword] = value;
    }
  }
  if (result.type === undefined && result.anyOf === undefined && schema.const !== undefined) {
    result.type = typeof schema.const;
  }
  return result;
}

/** `anyOf` X or null, as a list of types: fast-json-stringify would validate each value to choose a branch. */
function nullable(branches: Node[]): Node {
  const [only, ...others] = branches.filter((branch) => branch.type !== 'null');
  if (only === undefined || others.length > 0 || branches.length !== 2 || typeof only.type !== 'string') {
    return { anyOf: branches };
  }
  return { ...only, type: [only.type, 'null'] };
}
