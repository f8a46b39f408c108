/** A reader of PEM (RFC 7468): blocks, with any text before each, such as the "Bag Attributes" of `openssl pkcs12`. */
import type { Refusal } from '../../resources/definition/errors.ts';

export interface PemBlock {
  label: string;
  der: Buffer;
}

export type Read<T> = { value: T } | Refusal;

/** White space that OpenSSL ignores at the end of a line. */
const LINE_END = /[ \t]*(?:\r?\n|$)/y;
const BEGIN = /-----BEGIN ([A-Z0-9 ]{1,40})-----/y;
const STRAY_END = /^-----END /m;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const BYTE_ORDER_MARK = '\uFEFF';

const NOT_PEM = 'is not PEM: it must have a line "-----BEGIN …-----"';
const OUTSIDE = 'has text after its last PEM block';
const OWN_LINES = 'must have each -----BEGIN and -----END on its own line, without leading white space';
const NO_BEGIN = 'has an "-----END …-----" without its "-----BEGIN …-----"';
const NO_LABEL = 'has a -----BEGIN line that does not name its block as in "-----BEGIN CERTIFICATE-----"';
const MARKED =
  'has a byte order mark (U+FEFF) before -----BEGIN, which hides that line from other programs: save the file as UTF-8 without one';

/**
 * The blocks of a text (at least one), or why it is refused. The reason never shows the contents. Lines may have any
 * length but must otherwise be as OpenSSL and Go require, since other programs will read the same text.
 */
export function readPem(text: string): Read<PemBlock[]> {
  const blocks: PemBlock[] = [];
  let at = 0;
  for (;;) {
    const start = text.indexOf('-----BEGIN', at);
    if (start === -1) break;
    const reason = startProblem(text, at, start);
    if (reason !== undefined) return { reason };
    const read = readBlock(text, start);
    if ('reason' in read) return read;
    blocks.push(read.value.block);
    at = read.value.end;
  }
  const rest = text.slice(at);
  if (STRAY_END.test(rest)) return { reason: NO_BEGIN };
  if (blocks.length === 0) return { reason: rest.trim() === '' ? 'is empty' : NOT_PEM };
  return rest.trim() === '' ? { value: blocks } : { reason: OUTSIDE };
}

/** Why the block at `start` is refused for what comes before it, from `from` on. */
function startProblem(text: string, from: number, start: number): string | undefined {
  if (STRAY_END.test(text.slice(from, start))) return NO_BEGIN;
  if (text[start - 1] === BYTE_ORDER_MARK && startsLine(text, start - 1)) return MARKED;
  return startsLine(text, start) ? undefined : OWN_LINES;
}

function readBlock(text: string, start: number): Read<{ block: PemBlock; end: number }> {
  BEGIN.lastIndex = start;
  const [begin, label] = BEGIN.exec(text) ?? [];
  if (begin === undefined || label === undefined) return { reason: NO_LABEL };
  const boundary = `-----END ${label}-----`;
  const from = start + begin.length;
  const to = text.indexOf(boundary, from);
  if (to === -1) return { reason: `is truncated: it lacks "${boundary}"`, fixed: 'is truncated' };
  const content = text.slice(from, to);
  if (/^\s*Proc-Type:.*ENCRYPTED/.test(content)) return { reason: 'is encrypted with a passphrase' };
  const base64 = content.replaceAll(/\s+/g, '');
  if (base64 === '' || !BASE64.test(base64)) {
    return { reason: `has a block (${label}) that is not base64`, fixed: 'has a block that is not base64' };
  }
  const end = to + boundary.length;
  if (!startsLine(text, to) || ![from, end].every((stop) => endsLine(text, stop))) return { reason: OWN_LINES };
  if (/\n[ \t]*\r?\n/.test(content)) {
    return { reason: `has a block (${label}) with a blank line in it`, fixed: 'has a block with a blank line in it' };
  }
  return { value: { block: { label, der: Buffer.from(base64, 'base64') }, end } };
}

function startsLine(text: string, at: number): boolean {
  return at === 0 || text[at - 1] === '\n';
}

function endsLine(text: string, at: number): boolean {
  LINE_END.lastIndex = at;
  return LINE_END.test(text);
}

export const isPrivateKey = ({ label }: PemBlock) => label.endsWith('PRIVATE KEY');
