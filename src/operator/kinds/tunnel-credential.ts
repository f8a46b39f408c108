/** `TunnelCredential`: an authtoken for tunnel agents, delivered into a Secret and rotated there. */
import { z } from 'zod';
import type { Client } from '../../client/client.ts';
import type { credential } from '../../resources/credential.ts';
import type { View } from '../../resources/definition/resource.ts';
import { MAX_ACL_RULE_LENGTH, MAX_ACL_RULES } from '../../resources/formats/acl.ts';
import { ANNOTATION } from '../contract/names.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';
import { differing } from '../managed/comparison.ts';
import type { External } from '../managed/external.ts';
import { type CelRule, kind, type SpecOf } from '../managed/kind.ts';
import { rotationTime } from '../managed/rotation.ts';
import { secretNameOf } from '../managed/secrets/content.ts';
import { tokenSecret } from '../managed/secrets/token-secret.ts';
import { closeKey, ifExists } from './calls.ts';
import { aclRules } from './cel/acl.ts';
import { durationRules, matchesDuration } from './cel/duration.ts';
import { annotationRules, labelRules, labelValueRules, secretKeyRules, secretNameRules } from './cel/secret-names.ts';
import { description, metadata } from './fields.ts';

type Credential = View<typeof credential>;

const durationField = (about: string) =>
  z.string().max(32).meta({
    description: about,
    'x-cel': durationRules,
  });

const stringMap = (about: string, rules: readonly CelRule[], value = z.string()) =>
  z.record(z.string(), value).optional().meta({ description: about, maxProperties: 64, 'x-cel': rules });

const secret = z
  .object({
    name: z.string().max(253).optional().meta({
      description:
        'Name of the Secret; default: the name of this object. A Secret that is not ours is never overwritten.',
      'x-cel': secretNameRules,
    }),
    key: z.string().max(253).default('token').meta({
      description: 'Key of the token in the Secret; the id stands under credential-id.',
      'x-cel': secretKeyRules,
    }),
    template: z
      .object({
        labels: stringMap('Labels of the Secret.', labelRules, z.string().max(63).meta({ 'x-cel': labelValueRules })),
        annotations: stringMap('Annotations of the Secret.', annotationRules),
      })
      .optional()
      .meta({ description: 'What else the Secret carries.' }),
  })
  .default({ key: 'token' })
  .meta({ description: 'Where the token goes.' });

/** Only of what is one: `duration()` fails with a message about protocol buffers. */
const isDuration = (field: string) => `(has(self.${field}) && ${matchesDuration(`self.${field}`)})`;

const rotation = z
  .object({
    interval: durationField(
      'How old a token gets before it is replaced; at least 1m. Without it, only on request.',
    ).optional(),
    overlap: durationField(
      'How long the old token works beside the new one; default 10m, or half the interval if that is shorter.',
    ).optional(),
  })
  .optional()
  .meta({
    description: 'When the token is replaced.',
    'x-cel': [
      {
        rule: `!${isDuration('interval')} || duration(self.interval) >= duration('1m')`,
        message: 'rotation.interval must be at least 1m',
        fieldPath: '.interval',
      },
      {
        rule: `!${isDuration('interval')} || !${isDuration('overlap')} || duration(self.overlap) < duration(self.interval)`,
        message: 'rotation.overlap must be shorter than rotation.interval',
        fieldPath: '.overlap',
      },
    ],
  });

const spec = {
  description: description('Who or what uses the credential.'),
  metadata,
  acl: z
    .array(
      z.string().max(MAX_ACL_RULE_LENGTH).meta({
        'x-cel': aclRules,
      }),
    )
    .max(MAX_ACL_RULES)
    .default([])
    .meta({ description: 'What the token may bind; a target is allowed when any rule matches. Empty: everything.' }),
  ownerId: z
    .string()
    .max(64)
    .optional()
    .meta({
      description: "The user or bot that owns the credential; default: the owner of the operator's API key. Immutable.",
      'x-cel': [
        {
          rule: "self.matches('^(usr|bot)_[0-7][0-9a-hjkmnp-tv-z]{25}$')",
          message: 'ownerId must be the id of a user or bot: usr_ or bot_ followed by 26 characters',
        },
      ],
    }),
  secret,
  rotation,
};

export type TunnelCredentialSpec = SpecOf<typeof spec>;

export const tunnelCredentialKind = kind({
  kind: 'TunnelCredential',
  plural: 'tunnelcredentials',
  singular: 'tunnelcredential',
  shortNames: ['tcred'],
  description: 'An authtoken with which tunnel agents authenticate, kept in a Secret.',
  spec,
  status: {
    secretName: z.string().optional().meta({ description: 'The Secret that holds the token.' }),
    ownerId: z.string().optional().meta({ description: 'The user or bot that owns the credential.' }),
    issuedAt: z.string().optional().meta({ description: 'When the present token was issued.' }),
    rotatesAt: z.string().optional().meta({ description: 'When it will be replaced.' }),
  },
  rules: [
    {
      rule: 'has(self.ownerId) == has(oldSelf.ownerId) && (!has(self.ownerId) || self.ownerId == oldSelf.ownerId)',
      message: 'ownerId is immutable; delete this object and create another',
      fieldPath: '.ownerId',
    },
  ],
  printerColumns: [
    { name: 'Secret', type: 'string', jsonPath: '.status.secretName', description: 'The Secret that holds the token.' },
    { name: 'ID', type: 'string', jsonPath: '.status.id', description: 'Id in the API.' },
    { name: 'Rotates', type: 'string', jsonPath: '.status.rotatesAt', description: 'Next rotation.', priority: 1 },
    { name: 'Owner', type: 'string', jsonPath: '.status.ownerId', description: 'Owner of the token.', priority: 1 },
  ],
  external: connect,
  describe,
  delivery: tokenSecret,
});

function connect(client: Client): External<TunnelCredentialSpec, Credential> {
  return {
    observe: (id) => ifExists(client.credentials.get(id)),
    create: (spec, idempotencyKey) => {
      const owner = spec.ownerId === undefined ? {} : { owner_id: spec.ownerId };
      return client.credentials.create({ ...bodyOf(spec), ...owner }, { idempotencyKey });
    },
    changes: (spec, observed) => differing(bodyOf(spec), observed),
    update: (observed, spec) => client.credentials.update(observed.id, bodyOf(spec)),
    delete: (id) => ifExists(client.credentials.delete(id)),
    all: () => client.credentials.list(),
    closeKey: (key) => closeKey(client, key),
  };
}

function bodyOf(spec: TunnelCredentialSpec) {
  return { description: spec.description ?? null, metadata: spec.metadata ?? null, acl: spec.acl };
}

function describe(spec: TunnelCredentialSpec, observed: Credential, object: KubeObject): Record<string, unknown> {
  const isManaged = spec.managementPolicy === 'Manage' && annotation(object, ANNOTATION.externalId) === observed.id;
  return {
    secretName: isManaged ? secretNameOf(object, spec) : undefined,
    ownerId: observed.owner_id,
    issuedAt: observed.created_at,
    rotatesAt: isManaged ? rotationTime(spec, observed.created_at)?.toISOString() : undefined,
  };
}
