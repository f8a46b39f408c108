/** TypeScript programs that make calls with a generated client; the compiler checks the calls against its types. */
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
