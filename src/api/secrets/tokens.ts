/** One-time tokens: API keys and authtokens. Only their SHA-256 is stored. */
import { hash, randomInt } from 'node:crypto';

export const API_KEY_PREFIX = 'tnl_ak_';
export const AUTHTOKEN_PREFIX = 'tnl_cr_';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 43 characters of 62 hold 256 bits. */
const LENGTH = 43;

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
