/** `tunnel-operator export`: what the API holds, as YAML. */
import { createClient } from '../../client/client.ts';
import { BadSettings } from '../../settings/settings.ts';
import { attachedKinds, kinds } from '../kinds/kinds.ts';
import type { AnyPlainKind } from '../kinds/plain-kind.ts';
import { cannotUseApi } from './failure.ts';
import { type Export, manifestsOf } from './manifests.ts';
import { yamlOf } from './yaml.ts';

export interface ExportConfig {
  apiUrl: string;
  apiKey: string;
  apiTimeoutMs: number;
  /** As kubectl takes them; none for all. */
  kinds: readonly string[];
  namespace: string | undefined;
}

/** @throws BadSettings for an unknown kind; CannotStart when the API cannot be used */
export async function exportYaml(config: ExportConfig): Promise<{ yaml: string; refused: Export['refused'] }> {
  const wanted = kindsNamed(config.kinds);
  const { apiUrl: baseUrl, apiKey, apiTimeoutMs: timeoutMs } = config;
  const client = createClient({ baseUrl, apiKey, timeoutMs, userAgent: 'tunnel-operator export' });
  try {
    const { objects, refused } = await manifestsOf(client, { kinds: wanted, namespace: config.namespace });
    // Said, so that nobody takes the output for complete.
    const missing = attachedKinds.map(({ kind }) => ({ kind, reason: 'modules are not exported yet' }));
    const exported = { objects, refused: [...refused, ...(config.kinds.length === 0 ? missing : [])] };
    return { yaml: yamlOf(exported), refused: exported.refused };
  } catch (error) {
    throw cannotUseApi(error, baseUrl);
  } finally {
    await client.close();
  }
}

function kindsNamed(names: readonly string[]): readonly AnyPlainKind[] {
  const isNamed = (kind: AnyPlainKind, name: string) =>
    [kind.kind.toLowerCase(), kind.plural, ...kind.shortNames].includes(name.toLowerCase());
  const unknown = names.filter((name) => !kinds.some((kind) => isNamed(kind, name)));
  if (unknown.length > 0) {
    const known = kinds.map(({ kind }) => kind).join(', ');
    throw new BadSettings(`--kind is ${unknown.join(', ')}, but must be one of ${known}`);
  }
  return names.length === 0 ? kinds : kinds.filter((kind) => names.some((name) => isNamed(kind, name)));
}
