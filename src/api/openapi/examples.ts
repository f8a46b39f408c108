/** Examples of whole bodies, put together from the examples of their members. */
import { z } from 'zod';
import type { Json } from './schemas.ts';

const node: z.ZodType<Json> = z.record(z.string(), z.unknown());
const list = z.array(z.unknown());

/** An example of a component schema. */
export function exampleOf(name: string, schemas: Json): unknown {
  return build(node.parse(schemas[name]), schemas);
}

function build(schema: Json, schemas: Json): unknown {
  if (typeof schema.$ref === 'string') return exampleOf(schema.$ref.replace('#/components/schemas/', ''), schemas);
  const choices = [schema.examples, schema.enum, schema.anyOf].map((member) => list.safeParse(member).data?.[0]);
  const [example, member, branch] = choices;
  if (example !== undefined) return example;
  if (member !== undefined) return member;
  if (branch !== undefined) return build(node.parse(branch), schemas);
  switch ([schema.type].flat()[0]) {
    case 'object': {
      const members = Object.entries(node.parse(schema.properties));
      return Object.fromEntries(members.map(([name, value]) => [name, build(node.parse(value), schemas)]));
    }
    case 'array':
      return [build(node.parse(schema.items), schemas)];
    case 'boolean':
      return true;
    case 'string':
      return schema.format === 'uri' ? 'https://tunnels.example.com' : 'text';
    default:
      return null;
  }
}
