/** Shared by kinds with a one-time token or secret, which is stored in a Secret and rotated there. */
import { z } from 'zod';
import { ANNOTATION } from '../contract/names.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';
import type { Remote } from '../managed/declaration/external.ts';
import { type Handout, issuedAtIn } from '../managed/declaration/handout.ts';
import type { PrinterColumn } from '../managed/declaration/kind.ts';
import type { ManagedSpec } from '../managed/declaration/spec.ts';
import { type SecretSpec, secretNameOf } from '../managed/secrets/content.ts';
import { decideRotation, overlapOf, type RotationSpec, rotationTime } from '../managed/secrets/rotation.ts';
import { type Overlap, rotation, secret } from './secret-spec.ts';

interface Issued extends Remote {
  created_at: string;
}
type RotatedSpec = SecretSpec & RotationSpec;

export function oneTime(handout: Handout, overlap: Overlap = {}) {
  const { what } = handout;
  const issuedAtOf = (remote: Issued) => issuedAtIn(handout, remote) ?? remote.created_at;
  return {
    spec: { secret: secret(handout), rotation: rotation(handout, overlap) },
    status: {
      ...secretStatus(handout),
      issuedAt: z
        .string()
        .optional()
        .meta({ description: `When the current ${what} was issued.` }),
      rotatesAt: z
        .string()
        .optional()
        .meta({ description: `When the ${what} will be replaced.` }),
    },
    columns: [
      secretColumn(handout),
      {
        name: 'Rotates',
        type: 'string',
        jsonPath: '.status.rotatesAt',
        description: `When the ${what} will be replaced.`,
        priority: 1,
      },
    ] satisfies PrinterColumn[],
    describe(declared: RotatedSpec & ManagedSpec, observed: Issued, object: KubeObject) {
      const secretName = secretInStatus(handout, declared, observed, object);
      const rotatesAt = secretName === undefined ? undefined : rotationTime(declared, issuedAtOf(observed));
      return { secretName, issuedAt: issuedAtOf(observed), rotatesAt: rotatesAt?.toISOString() };
    },
    delivery: {
      handout,
      renewal: (object: KubeObject, spec: RotatedSpec, remote: Issued, now: Date) =>
        decideRotation(object, spec, { what, at: issuedAtOf(remote) }, now),
      // The resource stays, so the lost value may work on as after any rotation.
      ...(handout.issuedMember !== undefined && { lostOverlapMs: overlapOf }),
    },
  };
}

export function secretStatus({ what }: Handout) {
  return {
    secretName: z
      .string()
      .optional()
      .meta({ description: aboutSecret(what) }),
  };
}

export function secretColumn({ what }: Handout): PrinterColumn {
  return { name: 'Secret', type: 'string', jsonPath: '.status.secretName', description: aboutSecret(what) };
}

const aboutSecret = (what: string) => `The Secret that holds the ${what}.`;

/** The name of the Secret, once the object manages this resource. */
export function secretInStatus(
  handout: Handout,
  declared: SecretSpec & ManagedSpec,
  { id }: Remote,
  object: KubeObject,
): string | undefined {
  const isManaged = declared.managementPolicy === 'Manage' && annotation(object, ANNOTATION.externalId) === id;
  return isManaged ? secretNameOf(handout, object, declared) : undefined;
}
