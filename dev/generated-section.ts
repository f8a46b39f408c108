/**
 * A generated part of a document, between comments that Markdown does not show:
 *
 *     <!-- name: generated, npm run generate -->
 *     <!-- /name -->
 */

/** A file as a section. */
export function codeBlock(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}

/** Replaces the text of this section in the document. @throws Error when the section is missing */
export function withSection(page: string, name: string, text: string): string {
  const begin = `<!-- ${name}: generated, npm run generate -->\n`;
  const end = `<!-- /${name} -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf(end, from);
  if (from === -1 || to === -1) throw new Error(`the section "${begin.trim()}" is missing`);
  return `${page.slice(0, from)}${begin}\n${text.trimEnd()}\n\n${page.slice(to)}`;
}
