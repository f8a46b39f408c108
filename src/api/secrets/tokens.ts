/** One-time tokens: API keys and authtokens. Only their SHA-256 is stored. */
import { hash, randomInt } from 'node:crypto';

export const API_KEY_PREFIX = 'tnl_ak_';
export const AUTHTOKEN_PREFIX = 'tnl_cr_';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 43 characters of 62 hold 256 bits. */
const LENGTH = 43;

/** Characters of a key that are shown after its prefix: enough to tell keys apart, too few to help in guessing one. */
const SHOWN = 4;

/** The beginning of an API key, by which people recognise it. A key that was configured may have another prefix. */
export function tokenPrefix(token: string): string {
  return token.slice(0, (token.startsWith(API_KEY_PREFIX) ? API_KEY_PREFIX.length : 0) + SHOWN);
}

export function newToken(prefix: string): string {
  return prefix + Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/**
 * The stored hash of a token, as PostgreSQL writes a bytea. Tokens have 256 random bits, so a plain hash cannot be
 * reversed by search. As text, since a Buffer takes Node three times as long.
 */
export function tokenHash(token: string): string {
  return `\\x${hash('sha256', token, 'hex')}`;
}
