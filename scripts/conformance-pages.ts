/** The conformance rows as they are published: a page for each family, and one that lists them. */
import type { Section } from '../dev/conformance/row.ts';
import { transcript } from '../dev/conformance/transcript.ts';

export interface Page {
  /** In docs/conformance. */
  readonly file: string;
  readonly text: string;
}

const EXTENSION = 'Extension: ';

const HEAD = `# Conformance

What the management API promises, rule by rule, each with a request that tests it and the expected response.

\`npm test\` runs every rule against the API on a real PostgreSQL. \`npx vitest run test/conformance\` runs only these and
prints which hold. The test also compares the rules with the [OpenAPI document](../openapi.json) and fails if

- no rule has an operation succeed,
- no rule covers a request field, a response field or a query parameter,
- no rule covers one of the values of an enum,
- a rule calls an operation that is not documented.

For every request it also checks what the rules do not repeat: a response to a valid API key has the three
\`RateLimit-…\` headers, a 429 or 503 has \`Retry-After\`, and a write leaves exactly the events that follow from its path: one of the
resource, and one of each resource that is deleted with it; none if nothing changed.

These pages are generated from \`dev/conformance/rows\` by \`npm run generate\`; change the rows, not the pages.

## How to read a rule

\`\`\`
policy = POST /ip_policies {"description": "the office"}
user: GET /ip_policies/{policy.id}
  x-request-id: from-{unique}
← 200
  x-request-id: from-{unique}
  {"id": <ipp_…>, "created_at": <RFC 3339>, "metadata": null}
\`\`\`

| | |
|---|---|
| \`server:\` | A setting of the server that differs from the default; such a rule has a server of its own. |
| \`name =\` | A request that is made first and succeeds; with several names, once for each. |
| \`user:\`, \`bot:\`, \`anonymous:\` | Who makes the request; by default an admin, or the owner of the key in \`authorization\`. |
| indented lines | Headers, then the body. |
| \`←\` | The response: status, error code with its \`details\`, headers, body. It may contain more than is shown. |
| \`{name.member}\` | The value from the response to the request of that name. |
| \`{base}\`, \`{unique}\` | The address of the API; a word that is unique to each rule. |
| \`{pem.…}\`, \`{ssh.…}\`, \`{now.…}\` | Certificates and keys generated for the test; the start of the current time. |
| \`<…>\`, \`/…/\` | The form that a text must have. \`<absent>\`: the member must be absent. |
| \`…\` | Something long is cut here. |

Limits are listed with what they limit, and tested on both sides.
`;

export function conformancePages(sections: readonly Section[]): Page[] {
  const grouped = Map.groupBy(sections, ({ title }) => fileOf(title));
  const pages = [...grouped].map(([file, parts]) => ({ file, text: familyPage(parts) }));
  return [{ file: 'README.md', text: index(grouped) }, ...pages];
}

const fileOf = (title: string) => `${subjectOf(title).toLowerCase().replaceAll(/\W+/g, '-')}.md`;

/** The title without the word that says it is an extension, as a heading. */
function subjectOf(title: string): string {
  const subject = title.startsWith(EXTENSION) ? title.slice(EXTENSION.length) : title;
  return subject.charAt(0).toUpperCase() + subject.slice(1);
}

function index(pages: ReadonlyMap<string, readonly Section[]>): string {
  const contract = [...pages].filter(([, parts]) => !parts.every(isExtension));
  const extensions = [...pages].filter(([, parts]) => parts.every(isExtension));
  const total = [...pages.values()].flat().reduce((sum, { rows }) => sum + rows.length, 0);
  return `${HEAD}
## The contract

${list(contract)}
## Extensions

What the contract leaves open or only refers to.

${list(extensions)}
${total} rules in all.
`;
}

const isExtension = ({ title }: Section) => title.startsWith(EXTENSION);

function list(pages: readonly (readonly [string, readonly Section[]])[]): string {
  const lines = pages.map(([file, parts]) => {
    const rules = parts.reduce((sum, { rows }) => sum + rows.length, 0);
    return `| [${subjectOf(parts[0]?.title ?? '')}](${file}) | ${rules} |\n`;
  });
  return `| Page | Rules |\n|---|---|\n${lines.join('')}`;
}

/** A family's rows from the contract come before its extensions. */
function familyPage(parts: readonly Section[]): string {
  const title = subjectOf(parts[0]?.title ?? '');
  const own = parts.filter((part) => !isExtension(part)).flatMap(({ rows }) => rows.map(rule));
  const more = parts.filter(isExtension).flatMap(({ rows }) => rows.map(rule));
  const extension = own.length === 0 ? 'An extension: the contract leaves this open or only refers to it.\n\n' : '';
  const divided = own.length > 0 && more.length > 0 ? ['## Extension\n'] : [];
  return `# ${title}

${extension}[How to read a rule](README.md#how-to-read-a-rule)

${[...own, ...divided, ...more].join('\n')}`;
}

const rule = (row: Section['rows'][number]) => `### ${escaped(row.rule)}\n\n${fenced(transcript(row))}`;

/** Rules are plain text, so Markdown's special characters are escaped, as is a `_` at either end of a word. */
const escaped = (text: string) => text.replaceAll(/[\\*<>[\]`]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/g, '\\$&');

function fenced(text: string): string {
  const fence = text.includes('```') ? '````' : '```';
  return `${fence}\n${text}\n${fence}\n`;
}
