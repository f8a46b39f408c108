/** Manifests as a file for `kubectl apply`. */
import { Document, visit } from 'yaml';
import { yamlNumber } from '../contract/yaml-number.ts';
import type { Export, Exported } from './manifests.ts';

export function yamlOf({ objects, refused }: Export): string {
  const missing = refused.map(({ kind, reason }) => comment(`${kind} is left out: ${reason}`));
  return [...missing, ...objects.map(documentOf)].map(visibly).join('');
}

function documentOf({ manifest, remarks }: Exported): string {
  // kubectl reads YAML 1.1, in which `yes` and `1_000` are not strings.
  const document = new Document(manifest, { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && !isReadAlike(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  const text = document.toString({ lineWidth: 0, doubleQuotedAsJSON: true });
  return `---\n${remarks.map(comment).join('')}${text}`;
}

/**
 * Whether every reader of YAML takes the text as it stands. They disagree on blanks at the ends of lines, on which
 * characters are breaks of lines or are allowed at all, and on what is a number; to some, `=` is a value of its own.
 */
const isReadAlike = (text: string) =>
  !/^\s|[^\S\n]$|\n\n$/m.test(text) && !INVISIBLE.test(text) && yamlNumber(text) === undefined && text !== '=';

/** Control characters, line breaks other than \n, blanks other than the space, and unassigned code points. */
const INVISIBLE = /(?![\n ])[\p{C}\p{Z}]/u;

/** Escapes invisible characters; the text must be in double quotes. */
function visibly(yaml: string): string {
  return yaml.replaceAll(new RegExp(INVISIBLE, 'gu'), (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

const MAX_WIDTH = 100;

/** Lines that begin with `#`, broken between words. */
function comment(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= MAX_WIDTH) lines.push(`# ${word}`);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line) => `${line}\n`).join('');
}
