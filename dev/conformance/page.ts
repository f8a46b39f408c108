/** The conformance table as it is published. */
import { SECTIONS } from './sections.ts';
import { table } from './table.ts';

const HEAD = `# Conformance

What the management API promises, as requests and answers. Every row is played against a running API on a real PostgreSQL by \`npm test\`
(\`npx vitest run test/conformance\` plays these alone and prints the table with its results). The test fails if an operation, a request
field, a response field or a query parameter of the [OpenAPI document](openapi.json) is in no row.

Requests are an admin's unless they say whose or have a key of their own. \`… → name\` is a request that comes first;
\`{name.member}\` stands for what it answered, \`{base}\` for the address of the API, \`{unique}\` for a word that is another one in
each row, \`{pem.…}\` and \`{ssh.…}\` for certificates and keys that are made anew, \`{now.…}\` for how the time begins. An answer
has what is shown, and may have more. \`<…>\` and \`/…/\` are what a text must look like. Sections that the
contract does not have begin with \`Extension\`. Limits are with what they limit: each family holds its own to both sides of them.
`;

export function conformancePage(): string {
  return `${HEAD}\n${table(SECTIONS)}`;
}
