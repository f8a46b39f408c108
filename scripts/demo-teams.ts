/** Shows that two teams cannot see each other: each has an account and a namespace. */
import { createClient } from '../src/client/client.ts';
import { API_VERSION } from '../src/operator/contract/names.ts';

interface Cluster {
  /** The output of kubectl. */
  show(...args: string[]): Promise<string>;
  /** Applies a manifest, and waits until what it declares has the condition. */
  applyUntil(condition: string, manifest: object, namespace?: string): Promise<void>;
}

const TEAMS = ['web', 'mobile'];

/** Returns a line for each team: what its own key lists. */
export async function proveTeams(demo: Cluster, apiUrl: string): Promise<string[]> {
  for (const team of TEAMS) {
    await demo.show('create', 'namespace', team);
    const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': team } };
    await demo.applyUntil('Ready', manifest('Account', team, { name: team, namespaceSelector }));
    const items = [
      manifest('IPPolicy', 'office', { description: officeOf(team) }),
      manifest('BotUser', 'scripts', { name: 'Scripts' }),
      manifest('APIKey', 'scripts', { ownerRef: { name: 'scripts' } }),
    ];
    await demo.applyUntil('Ready', { apiVersion: 'v1', kind: 'List', items }, team);
  }
  const proofs: string[] = [];
  for (const team of TEAMS) {
    const template = '--output=go-template={{.data.token | base64decode}}';
    const apiKey = await demo.show('get', '--namespace', team, 'secret', 'scripts-api-key', template);
    const client = createClient({ baseUrl: apiUrl, apiKey });
    const listed = (await Array.fromAsync(client.ipPolicies.list())).map(({ description }) => description);
    await client.close();
    if (listed.join() !== officeOf(team)) throw new Error(`the key of team ${team} lists ${listed.join(', ')}`);
    proofs.push(`The key of team ${team} lists one IP policy: ${officeOf(team)}`);
  }
  return proofs;
}

const manifest = (kind: string, name: string, spec: object) => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name },
  spec,
});

const officeOf = (team: string) => `office of ${team}`;
