/** PEM (RFC 7468), read strictly: blocks and white space, nothing else. */

export interface PemBlock {
  label: string;
  der: Buffer;
}

export type Read<T> = { value: T } | { reason: string };

/** What OpenSSL ignores at the end of a line. */
const LINE_END = /[ \t]*(?:\r?\n|$)/y;
const BEGIN = /-----BEGIN ([A-Z0-9 ]{1,40})-----/y;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const OUTSIDE = 'has text outside its PEM blocks';
const OWN_LINES = 'must have each -----BEGIN and -----END on its own line, without leading white space';

/**
 * The blocks of a text, of which there is at least one, or why it has none. The reason never shows its contents. Lines
 * may have any length, but what stands on a line is what OpenSSL wants there, since others will read the same text.
 */
export function readPem(text: string): Read<PemBlock[]> {
  const blocks: PemBlock[] = [];
  let at = skipSpace(text, 0);
  while (at < text.length) {
    BEGIN.lastIndex = at;
    const [begin = '', label = ''] = BEGIN.exec(text) ?? [];
    if (begin === '') {
      return { reason: blocks.length === 0 ? 'is not PEM: it must start with "-----BEGIN"' : OUTSIDE };
    }
    const end = `-----END ${label}-----`;
    const from = at + begin.length;
    const to = text.indexOf(end, from);
    if (to === -1) return { reason: `is truncated: it lacks "${end}"` };
    const content = text.slice(from, to);
    if (/^\s*Proc-Type:.*ENCRYPTED/.test(content)) return { reason: 'is encrypted with a passphrase' };
    const base64 = content.replaceAll(/\s+/g, '');
    if (base64 === '' || !BASE64.test(base64)) return { reason: `has a block (${label}) that is not base64` };
    const after = to + end.length;
    if (![at, to].every((start) => startsLine(text, start)) || ![from, after].every((stop) => endsLine(text, stop))) {
      return { reason: OWN_LINES };
    }
    if (/\n[ \t]*\r?\n/.test(content)) return { reason: `has a block (${label}) with a blank line in it` };
    blocks.push({ label, der: Buffer.from(base64, 'base64') });
    at = skipSpace(text, after);
  }
  return blocks.length === 0 ? { reason: 'is empty' } : { value: blocks };
}

function startsLine(text: string, at: number): boolean {
  return at === 0 || text[at - 1] === '\n';
}

function endsLine(text: string, at: number): boolean {
  LINE_END.lastIndex = at;
  return LINE_END.test(text);
}

function skipSpace(text: string, at: number): number {
  const space = /\s*/y;
  space.lastIndex = at;
  return at + (space.exec(text)?.[0].length ?? 0);
}

export const isPrivateKey = ({ label }: PemBlock) => label.endsWith('PRIVATE KEY');
