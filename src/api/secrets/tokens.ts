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
 * What is stored of a token, as PostgreSQL reads a bytea. Tokens have 256 random bits, so a plain hash cannot be
 * searched backwards. As text, since Node takes three times as long to make a Buffer of it.
 */
export function tokenHash(token: string): string {
  return `\\x${hash('sha256', token, 'hex')}`;
}
