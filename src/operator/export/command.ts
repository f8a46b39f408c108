/** `tunnel-operator export`: what the API holds, as YAML. */
import { BadSettings } from '../../settings/settings.ts';
import { allKinds, attachedKinds, kinds } from '../kinds/kinds.ts';
import { KubeApi } from '../kube/kube-api.ts';
import { loadKubeConfig } from '../kube/kube-config.ts';
import type { AnyKind } from '../managed/declaration/kind.ts';
import { type ApiChoice, type ChosenApi, openApi } from './api-choice.ts';
import { cannotUseApi, cannotUseCluster } from './failure.ts';
import { type Export, type ExportOptions, manifestsOf } from './manifests.ts';
import { yamlOf } from './yaml.ts';

export interface ExportConfig extends ApiChoice {
  /** For the connection. */
  kubeconfig: string | undefined;
  kubeTimeoutMs: number;
  /** As kubectl takes them; none for all. */
  kinds: readonly string[];
  namespace: string | undefined;
}

/** @throws BadSettings for an unknown kind; CannotStart when the API cannot be used */
export async function exportYaml(config: ExportConfig): Promise<{ yaml: string; refused: Export['refused'] }> {
  const wanted = kindsNamed(config.kinds);
  const { client, url, close } = await openWith(config);
  try {
    // No account has accounts.
    const isWhole = config.account === undefined && config.connection === undefined;
    const owned = wanted.kinds.filter(({ family }) => isWhole || family.access !== 'platform');
    const exported = await manifestsOf(client, { ...wanted, kinds: owned, namespace: config.namespace });
    return { yaml: yamlOf(exported), refused: exported.refused };
  } catch (error) {
    throw cannotUseApi(error, url);
  } finally {
    await close();
  }
}

async function openWith(config: ExportConfig): Promise<ChosenApi> {
  const options = { userAgent: 'tunnel-operator export' };
  let kube: KubeApi | undefined;
  const connect = () => {
    kube = new KubeApi(loadKubeConfig(config.kubeconfig), { ...options, timeoutMs: config.kubeTimeoutMs });
    return kube;
  };
  try {
    return await openApi(config, connect, options);
  } catch (error) {
    throw cannotUseCluster(error);
  } finally {
    await kube?.close();
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
