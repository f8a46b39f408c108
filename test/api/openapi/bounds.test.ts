/**
 * Every list, map and text in a request is bounded. Together with the limit on bodies, this bounds how long the check
 * of one request can block the process, and with it the handling of SIGTERM.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { document } from './openapi-check.ts';

const json = z.record(z.string(), z.unknown());
const schemas = z.object({ schemas: z.record(z.string(), json) }).parse(document.components).schemas;
const isObject = (node: unknown): node is Readonly<Record<string, unknown>> =>
  typeof node === 'object' && node !== null;

/** Besides maxLength, a fixed format or an anchored pattern without open repetition bounds a text. */
function isBounded(text: Readonly<Record<string, unknown>>): boolean {
  if (['maxLength', 'enum', 'const', 'format'].some((word) => Object.hasOwn(text, word))) return true;
  if (typeof text.pattern !== 'string' || !/^\^.*\$$/.test(text.pattern)) return false;
  const structure = text.pattern.replaceAll(/\\./g, 'x').replaceAll(/\[[^\]]*\]/g, 'x');
  return !/[*+]|\{\d+,\}/.test(structure);
}

/** The places where a schema accepts an unlimited amount. */
function* unbounded(node: unknown, at: string): Generator<string> {
  if (!isObject(node)) return;
  if (typeof node.$ref === 'string') {
    const name = node.$ref.replace('#/components/schemas/', '');
    yield* unbounded(schemas[name], name);
    return;
  }
  const types = [node.type].flat();
  if (node.readOnly === true) return;
  if (types.includes('string') && !isBounded(node)) yield `${at}: text`;
  if (types.includes('array') && node.maxItems === undefined) yield `${at}: list`;
  if (isObject(node.additionalProperties)) {
    if (node.maxProperties === undefined) yield `${at}: map`;
    yield* unbounded(node.additionalProperties, `${at}/*`);
  }
  for (const [name, member] of Object.entries(node.properties ?? {})) yield* unbounded(member, `${at}/${name}`);
  yield* unbounded(node.items, `${at}/0`);
  for (const part of ['anyOf', 'oneOf', 'allOf']) {
    const all = node[part];
    if (Array.isArray(all)) for (const one of all) yield* unbounded(one, at);
  }
}

const operation = z.object({ operationId: z.string(), requestBody: z.unknown().optional() });
const operations = Object.values(z.record(z.string(), z.record(z.string(), operation)).parse(document.paths)).flatMap(
  (path) => Object.values(path),
);

test.each(operations.filter(({ requestBody }) => requestBody !== undefined))(
  '$operationId bounds every list, map and text that it accepts',
  ({ requestBody }) => {
    const { content } = z.object({ content: z.record(z.string(), z.object({ schema: json })) }).parse(requestBody);
    const found = Object.values(content).flatMap(({ schema }) => [...unbounded(schema, '')]);
    expect([...new Set(found)]).toEqual([]);
  },
);
