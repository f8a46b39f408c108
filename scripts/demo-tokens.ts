/** Shows that the tokens in the Secrets of the demo work: asks the API about them, as a tunnel server would. */
import { z } from 'zod';
import type { Client } from '../src/client/client.ts';

const secretList = z.object({
  items: z.array(z.object({ metadata: z.object({ name: z.string() }), data: z.record(z.string(), z.string()) })),
});

/**
 * Returns a line for each token, and two for the ACL of one.
 * @param show runs kubectl in the namespace of the Secrets
 */
export async function proveTokens(client: Client, show: (...args: string[]) => Promise<string>): Promise<string[]> {
  const raw = await show('get', 'secrets', '--field-selector=type=tunnel-operator.dev/authtoken', '--output=json');
  const secrets = secretList.parse(JSON.parse(raw)).items;
  if (secrets.length === 0) throw new Error('no Secret holds a token');
  const proofs: string[] = [];
  for (const { metadata, data } of secrets) {
    const key = Object.keys(data).find((name) => name !== 'credential-id') ?? '';
    const token = Buffer.from(data[key] ?? '', 'base64').toString('utf8');
    const answer = await client.authenticate({ token });
    if (answer.credential_id === null) throw new Error(`the token in Secret ${metadata.name} does not authenticate`);
    proofs.push(`Secret ${metadata.name}, key ${key}: authenticates as ${answer.credential_id}`);
  }
  const token = await show('get', 'secret', 'shop-agent', '--output=go-template={{.data.token | base64decode}}');
  for (const [bind, expected] of [
    ['www.shop.example.com', true],
    ['www.example.org', false],
  ] as const) {
    const answer = await client.authenticate({ token, bind });
    if (answer.allowed !== expected) throw new Error(`shop-agent may${answer.allowed ? '' : ' not'} bind ${bind}`);
    proofs.push(`It may${expected ? '' : ' not'} bind ${bind}${expected ? ` (${answer.matched_rule})` : ''}`);
  }
  return proofs;
}
