/** A strict reader of PEM (RFC 7468): blocks, white space, and only the text that the caller allows. */
import type { Refusal } from '../../resources/definition/errors.ts';

export interface PemBlock {
  label: string;
  der: Buffer;
}

export type Read<T> = { value: T } | Refusal;

/** White space that OpenSSL ignores at the end of a line. */
const LINE_END = /[ \t]*(?:\r?\n|$)/y;
const BEGIN = /-----BEGIN ([A-Z0-9 ]{1,40})-----/y;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const NOT_PEM = 'is not PEM: it must have a line "-----BEGIN …-----"';
const OUTSIDE = 'has text outside its PEM blocks';
const OWN_LINES = 'must have each -----BEGIN and -----END on its own line, without leading white space';

export interface PemRules {
  /** Text before blocks, as `openssl x509 -text` writes it (section 2: parsers should ignore it). */
  explained: boolean;
}

/**
 * The blocks of a text (at least one), or why it is refused. The reason never shows the contents. Lines may have any
 * length but must otherwise be as OpenSSL requires, since other programs will read the same text.
 */
export function readPem(text: string, { explained }: PemRules = { explained: false }): Read<PemBlock[]> {
  const blocks: PemBlock[] = [];
  const next = explained ? skipExplanation : skipSpace;
  let at = next(text, 0);
  while (at < text.length) {
    BEGIN.lastIndex = at;
    const [begin = '', label = ''] = BEGIN.exec(text) ?? [];
    if (begin === '') {
      return { reason: blocks.length === 0 ? NOT_PEM : OUTSIDE };
    }
    const end = `-----END ${label}-----`;
    const from = at + begin.length;
    const to = text.indexOf(end, from);
    if (to === -1) return { reason: `is truncated: it lacks "${end}"`, fixed: 'is truncated' };
    const content = text.slice(from, to);
    if (/^\s*Proc-Type:.*ENCRYPTED/.test(content)) return { reason: 'is encrypted with a passphrase' };
    const base64 = content.replaceAll(/\s+/g, '');
    if (base64 === '' || !BASE64.test(base64)) {
      return { reason: `has a block (${label}) that is not base64`, fixed: 'has a block that is not base64' };
    }
    const after = to + end.length;
    if (![at, to].every((start) => startsLine(text, start)) || ![from, after].every((stop) => endsLine(text, stop))) {
      return { reason: OWN_LINES };
    }
    if (/\n[ \t]*\r?\n/.test(content)) {
      return { reason: `has a block (${label}) with a blank line in it`, fixed: 'has a block with a blank line in it' };
    }
    blocks.push({ label, der: Buffer.from(base64, 'base64') });
    at = next(text, after);
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
  return at + text.slice(at).search(/\S|$/);
}

/** Does not skip other lines with dashes, which other parsers might take for the beginning of a block. */
function skipExplanation(text: string, from: number): number {
  const at = skipSpace(text, from);
  const dashes = text.indexOf('-----', at);
  return startsLine(text, dashes) ? dashes : at;
}

export const isPrivateKey = ({ label }: PemBlock) => label.endsWith('PRIVATE KEY');
