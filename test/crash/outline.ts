/** What a run leaves behind, as far as two runs of the same story can be compared. */
import { z } from 'zod';
import { REASON } from '../../src/operator/contract/reasons.ts';
import type { KubeObject } from '../../src/operator/kube/kube-object.ts';
import { readIdentity } from '../../src/operator/managed/identity/identity.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';

/** What two runs of the same story must have in common, ids and times left out. */
export interface Outline {
  [object: string]: {
    generation: number;
    conditions: string[];
    annotations: string[];
    secret?: { type: unknown; keys: string[]; labels: string[]; annotations: string[] };
  };
}

/** Drift is reported after its correction: a crash in between leaves the correct state, and nothing to report. */
const alike = (reason: string) => (reason === REASON.driftCorrected ? REASON.upToDate : reason);

export function sketch(object: KubeObject): Outline[string] {
  const { conditions = [] } = readStatus(object);
  return {
    generation: readIdentity(object).generation,
    conditions: conditions.map(({ type, status, reason }) => `${type}=${status} ${alike(reason)}`).toSorted(),
    annotations: Object.keys(object.metadata.annotations ?? {}).toSorted(),
  };
}

export function sketchSecret(secret: KubeObject) {
  const { labels = {}, annotations = {} } = secret.metadata;
  return {
    type: secret.type,
    keys: Object.keys(z.record(z.string(), z.string()).parse(secret.data ?? {})).toSorted(),
    labels: Object.entries(labels).flat(),
    annotations: Object.keys(annotations).toSorted(),
  };
}
