/** `tunnel-operator export`: what the API holds, as YAML. */
import { createClient } from '../../client/client.ts';
import { BadSettings } from '../../settings/settings.ts';
import { allKinds, attachedKinds, kinds } from '../kinds/kinds.ts';
import type { AnyKind } from '../managed/declaration/kind.ts';
import { cannotUseApi } from './failure.ts';
import { type Export, type ExportOptions, manifestsOf } from './manifests.ts';
import { yamlOf } from './yaml.ts';

export interface ExportConfig {
  apiUrl: string;
  apiKey: string;
  apiTimeoutMs: number;
  /** That a platform admin's key is to act in; default: that of the key. */
  account?: string | undefined;
  /** As kubectl takes them; none for all. */
  kinds: readonly string[];
  namespace: string | undefined;
}

/** @throws BadSettings for an unknown kind; CannotStart when the API cannot be used */
export async function exportYaml(config: ExportConfig): Promise<{ yaml: string; refused: Export['refused'] }> {
  const wanted = kindsNamed(config.kinds);
  const { apiUrl: baseUrl, apiKey, account, apiTimeoutMs: timeoutMs } = config;
  const client = createClient({ baseUrl, apiKey, account, timeoutMs, userAgent: 'tunnel-operator export' });
  try {
    // No account has accounts.
    const owned = wanted.kinds.filter(({ family }) => account === undefined || family.access !== 'platform');
    const exported = await manifestsOf(client, { ...wanted, kinds: owned, namespace: config.namespace });
    return { yaml: yamlOf(exported), refused: exported.refused };
  } catch (error) {
    throw cannotUseApi(error, baseUrl);
  } finally {
    await client.close();
  }
}

function kindsNamed(names: readonly string[]): ExportOptions {
  const isNamed = (kind: AnyKind, name: string) =>
    [kind.kind.toLowerCase(), kind.plural, ...kind.shortNames].includes(name.toLowerCase());
  const unknown = names.filter((name) => !allKinds.some((kind) => isNamed(kind, name)));
  if (unknown.length > 0) {
    const known = allKinds.map(({ kind }) => kind).join(', ');
    throw new BadSettings(`--kind is ${unknown.join(', ')}, but must be one of ${known}`);
  }
  const isWanted = (kind: AnyKind) => names.length === 0 || names.some((name) => isNamed(kind, name));
  const wanted = kinds.filter(isWanted);
  const writeSecrets = kinds.filter(({ delivery }) => delivery);
  const sharingNames = writeSecrets.some(isWanted) ? writeSecrets.filter((kind) => !isWanted(kind)) : [];
  return { kinds: wanted, attachedKinds: attachedKinds.filter(isWanted), sharingNames };
}
