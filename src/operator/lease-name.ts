/** Every shard elects a leader of its own. */
import { sha256Hex } from '../resources/formats/sha256.ts';
import type { LabelSelector } from './kube/label-selector.ts';

export function leaseName(program: string, shard: LabelSelector | undefined): string {
  return shard === undefined ? program : `${program}-${sha256Hex(String(shard)).slice(0, 10)}`;
}
