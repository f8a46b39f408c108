/** Takes secrets out of answers: in error pages, servers quote the request and their own settings. */

/** Shorter texts are not secrets but words that an answer may well contain. */
const SHORTEST = 8;

/** Returns a function that replaces each secret by `…`, even if JSON, HTML or a URL has escaped some of its characters. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const patterns = secrets
    .filter(({ length }) => length >= SHORTEST)
    .toSorted((a, b) => b.length - a.length)
    .map((secret) => ({ shortest: secret.length, pattern: inAnySpelling(secret) }));
  return (text) =>
    patterns.reduce(
      (shown, { shortest, pattern }) => (shown.length < shortest ? shown : shown.replaceAll(pattern, '…')),
      text,
    );
}

const inAnySpelling = (secret: string) => new RegExp([...secret].map(spellings).join(''), 'giu');

/** A pattern for one character, as it is and escaped. Letters and digits are never escaped. */
function spellings(character: string): string {
  if (/[a-z0-9]/i.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  const plain = `\\u{${hex}}`;
  // JSON in JSON has three backslashes. If a backslash itself had several spellings, a match could take exponential time.
  const inJson = character === '\\' ? [] : [`\\\\{1,3}${plain}`, `\\\\{1,3}u${hex.padStart(4, '0')}`];
  const inHtml = [`&#0?${code};`, `&#x${hex};`, ...(ENTITIES[character] ?? []).map((name) => `&${name};`)];
  const inUrl = [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  return `(?:${[plain, ...inJson, ...inHtml, inUrl].join('|')})`;
}

const ENTITIES: Readonly<Record<string, readonly string[]>> = {
  '&': ['amp'],
  '<': ['lt'],
  '>': ['gt'],
  '"': ['quot'],
  "'": ['apos'],
};

/** Parts of a URL that may be secret: path, query, their segments and values, both encoded and decoded. */
export function secretsIn({ pathname, search, searchParams }: URL): string[] {
  const values = search
    .slice(1)
    .split('&')
    .map((pair) => pair.slice(pair.indexOf('=') + 1));
  const written = [pathname + search, pathname, search.slice(1), ...pathname.split('/'), ...values];
  return [...written, ...written.map(decoded), ...searchParams.values()];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
