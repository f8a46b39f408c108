/** Idempotency keys that no other test of the file has. Only for test files. */

let keys = 0;
export const newKey = () => `key-${keys++}`;

/** The header of a request under the key. */
export const under = (key: string) => ({ 'idempotency-key': key });
