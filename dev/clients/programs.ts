/** Programs in TypeScript that make calls with a generated client, which their compiler holds against its types. */
import type { Call } from './life.ts';

/** A value as an expression: placeholders of earlier results become members of variables. */
export function expression(value: unknown): string {
  return JSON.stringify(value).replaceAll(/"(?:[^"\\]|\\.)*"/g, (text) => {
    if (!/\{\w+_\d+\.\w+\}/.test(text)) return text;
    const inner = text.slice(1, -1).replaceAll(/[`$]/g, String.raw`\$&`);
    return `\`${inner.replaceAll(/\{(\w+_\d+\.\w+)\}/g, (_, member: string) => `\${${member}}`)}\``;
  });
}

const header = (lines: string) => `${lines}
const url = process.env.API_URL ?? '';
const authorization = \`Bearer \${process.env.API_KEY}\`;
function must(fine: boolean, what: string): asserts fine {
  if (!fine) throw new Error(what);
}
`;

/** The name of a variable for the result of a call. */
const resultOf = (call: Call, index: number) => call.result ?? `result_${index}`;

const checkList = ({ collection, operationId }: Call, from: string) =>
  collection ? `must(${from}.${collection}.length > 0, '${operationId}: an empty list');\n` : '';

/** With openapi-typescript and openapi-fetch. */
export function fetchProgram(calls: readonly Call[]): string {
  const lines = calls.map((call, index) => {
    const { method, path, params, body, operationId } = call;
    const options = [
      ...(Object.keys(params).length > 0 ? [`params: { path: ${expression(params)} }`] : []),
      ...(body ? [`body: ${expression(body)}`] : []),
    ];
    const [answer, result] = [`answer_${index}`, resultOf(call, index)];
    const made = `const ${answer} = await client.${method}('${path}', { ${options.join(', ')} });\n`;
    const failed = `'${operationId}: ' + JSON.stringify(${answer}.error)`;
    if (method === 'DELETE') return `${made}must(${answer}.response.status === 204, ${failed});\n`;
    return `${made}must(${answer}.data !== undefined, ${failed});\nconst ${result} = ${answer}.data;\n${checkList(call, result)}`;
  });
  const imports = "import createClient from 'openapi-fetch';\nimport type { paths } from './schema.js';";
  return `${header(imports)}const client = createClient<paths>({ baseUrl: url, headers: { authorization } });\n${lines.join('')}`;
}

/** With orval's client on fetch. */
export function orvalProgram(calls: readonly Call[]): string {
  const lines = calls.map((call, index) => {
    const { method, params, body, operationId, collection } = call;
    const passed = [...Object.values(params), ...(body ? [body] : []), ...(collection ? [{}] : [])].map(expression);
    const [answer, result] = [`answer_${index}`, resultOf(call, index)];
    const made = `const ${answer} = await api.${operationId}(${[...passed, 'options'].join(', ')});\n`;
    const wanted = method === 'POST' ? 201 : method === 'DELETE' ? 204 : 200;
    const checked = `must(${answer}.status === ${wanted}, '${operationId}: ' + JSON.stringify(${answer}.data));\n`;
    if (method === 'DELETE') return made + checked;
    return `${made}${checked}const ${result} = ${answer}.data;\n${checkList(call, result)}`;
  });
  const imports = "import * as api from './client.js';";
  return `${header(imports)}const fetched = globalThis.fetch;
globalThis.fetch = (to, init) => fetched(new URL(String(to), url), init);
const options = { headers: { authorization } };
${lines.join('')}`;
}

const pascal = (words: string) => words.replaceAll(/(?:^|\W+)(\w)/g, (_, first: string) => first.toUpperCase());
const camel = (name: string) => name.charAt(0).toLowerCase() + name.slice(1);
const camelOf = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** With openapi-generator's typescript-fetch. */
export function generatorProgram(calls: readonly Call[]): string {
  const lines = calls.map((call, index) => {
    const { params, body, operationId, tag, schema = '' } = call;
    const passed = [
      ...Object.entries(params).map(([name, value]) => `${camelOf(name)}: ${expression(value)}`),
      ...(body ? [`${camel(schema)}: api.${schema}FromJSON(${expression(body)})`] : []),
    ];
    const result = resultOf(call, index);
    const made = `new api.${pascal(tag)}Api(configuration).${operationId}({ ${passed.join(', ')} })`;
    return `const ${result} = await ${made};\n${checkList(call, result)}`;
  });
  const imports = "import * as api from './client/index.js';";
  return `${header(imports)}const configuration = new api.Configuration({ basePath: url, accessToken: authorization.slice(7) });
${lines.join('')}`;
}
