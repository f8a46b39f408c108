/**
 * A part of a document that is generated. It stands between comments that Markdown does not show:
 *
 *     <!-- name: generated, npm run generate -->
 *     <!-- /name -->
 */

/** The document with another text in this section. @throws Error when it has no such section */
export function withSection(page: string, name: string, text: string): string {
  const begin = `<!-- ${name}: generated, npm run generate -->\n`;
  const end = `<!-- /${name} -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf(end, from);
  if (from === -1 || to === -1) throw new Error(`there is no section "${begin.trim()}" to write into`);
  return `${page.slice(0, from)}${begin}\n${text.trimEnd()}\n\n${page.slice(to)}`;
}
