/** Creates and edits credentials of a stack, and finds what was created for each. Only for test files. */
import { expect } from 'vitest';
import { GROUP } from '../../src/operator/contract/names.ts';
import { CREDENTIALS, credential } from './manifest.ts';
import type { Stack } from './stack.ts';

/** In base64, as in the data of a Secret. */
export const encoded = (text: string) => Buffer.from(text).toString('base64');

export function credentialsOf(stack: Stack) {
  /** The token in the Secret. */
  const tokenOf = async (secret: string) => (await stack.secret(secret))?.token;

  async function patchSecret(name: string, patch: object) {
    const result = await stack.run('patch', 'secret', name, '--type=merge', '-p', JSON.stringify(patch));
    expect(result).toMatchObject({ code: 0 });
  }

  /** @param annotations by their names without the operator's prefix */
  const annotate = (name: string, annotations: Record<string, string | null>) => {
    const ours = Object.entries(annotations).map(([key, value]) => [`${GROUP}/${key}`, value]);
    return stack.annotate(CREDENTIALS, name, Object.fromEntries(ours));
  };

  async function made(name: string, spec: object = {}) {
    await stack.apply(credential(name, { description: name, ...spec }));
    const { object, status } = await stack.ready(CREDENTIALS, name);
    return { object, id: String(status.id), token: await tokenOf(String(status.secretName)) };
  }

  /** The ids of all credentials that were created for the object. */
  async function idsOf(name: string) {
    const rows = await stack.sql('select id from credentials where description = $1 order by id', [name]);
    return rows.map(({ id }) => id);
  }

  return { tokenOf, patchSecret, annotate, made, idsOf };
}
