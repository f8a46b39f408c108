/** Manifests as a file for `kubectl apply`. */
import { Document } from 'yaml';
import type { Export, Exported } from './manifests.ts';

export function yamlOf({ objects, refused }: Export): string {
  const missing = refused.map(({ kind, reason }) => comment(`${kind} is left out: ${reason}`));
  return [...missing, ...objects.map(documentOf)].join('');
}

function documentOf({ manifest, remarks }: Exported): string {
  // kubectl reads YAML 1.1, in which `yes` and `1_000` are no strings.
  const text = new Document(manifest, { aliasDuplicateObjects: false, compat: 'yaml-1.1' }).toString({ lineWidth: 0 });
  return `---\n${remarks.map(comment).join('')}${text}`;
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
