/** Idempotency keys that no other test of the file uses. Only for test files. */

let keys = 0;
export const newKey = () => `key-${keys++}`;

/** The header that sends the key. */
export const under = (key: string) => ({ 'idempotency-key': key });
