/**
 * Digests of the texts that were sent, for the status. They are keyed, so that the text cannot be guessed by hashing
 * candidates.
 */
import { createHmac, hkdfSync } from 'node:crypto';

export type Digester = (uid: string, path: string, text: string) => string;

/** @param secret known only to the operator; the key is derived from it */
export function digester(secret: string): Digester {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'tunnel-operator source digests', 32));
  return (uid, path, text) =>
    createHmac('sha256', key).update(`${uid}\n${path}\n`).update(text).digest('base64url').slice(0, 22);
}

/** Text of which only the digest is known. */
export class DigestedText {
  readonly #isText: (text: string) => boolean;

  constructor(isText: (text: string) => boolean) {
    this.#isText = isText;
  }

  isText(text: unknown): boolean {
    return typeof text === 'string' && this.#isText(text);
  }
}
