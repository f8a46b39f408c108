/** The owner of a credential or key: a user or bot by `ownerId`, or a BotUser by `ownerRef`. */
import { z } from 'zod';
import { ApiError } from '../../client/errors.ts';
import { botUser } from '../../resources/bot-user.ts';
import { idOf } from '../../resources/definition/id.ts';
import { REASON } from '../contract/reasons.ts';
import type { CelRule } from '../managed/declaration/cel.ts';
import { Blocked, type External, type Remote } from '../managed/declaration/external.ts';
import { Reference } from '../managed/declaration/input.ts';
import { refTo } from '../managed/declaration/input-schemas.ts';
import type { PrinterColumn } from '../managed/declaration/kind.ts';

const spec = {
  ownerRef: refTo([botUser], 'BotUser that is the owner, in place of ownerId. Immutable.', {
    isImmutable: true,
  }).optional(),
};

const rules: readonly CelRule[] = [
  {
    rule: '!(has(self.ownerId) && has(self.ownerRef))',
    message: 'ownerId cannot be combined with ownerRef',
    fieldPath: '.ownerRef',
  },
  {
    rule: 'has(self.ownerRef) == has(oldSelf.ownerRef) && (!has(self.ownerRef) || self.ownerRef == oldSelf.ownerRef)',
    message: 'ownerRef is immutable; delete this object and create another',
    fieldPath: '.ownerRef',
  },
];

/** The API takes only ids. */
function expand<Spec extends { ownerRef?: unknown }>({ ownerRef, ...others }: Spec) {
  return ownerRef === undefined ? others : { ...others, ownerId: ownerRef };
}

const named = z.union([z.object({ ownerRef: z.unknown().nonoptional() }), z.object({ ownerId: z.string() })]);

const NEEDS_OWNER =
  "spec.ownerRef: name a BotUser of this namespace, since the owner of the operator's API key does not belong to the account";

/** In another account, the owner of the operator's API key cannot own anything: the spec must name somebody. */
export function explainingOwner<Spec, R extends Remote>(plain: External<Spec, R>): External<Spec, R> {
  return {
    ...plain,
    async create(spec, options) {
      try {
        return await plain.create(spec, options);
      } catch (error) {
        const isAboutOwner = error instanceof ApiError && error.details['/owner_id'] !== undefined;
        if (!isAboutOwner || named.safeParse(spec).success) throw error;
        throw new Blocked(REASON.rejected, NEEDS_OWNER);
      }
    },
  };
}

const botId = idOf(botUser.prefix);
/** A reference by name is always to a BotUser. */
const bot = z.union([z.object({ ownerRef: z.union([botId, z.instanceof(Reference)]) }), z.object({ ownerId: botId })]);

/**
 * Whether the owner is a bot; references need not be resolved. Bots are never admins. The default owner, that of the
 * operator's API key, usually is one.
 */
export const isOwnedByBot = (spec: unknown) => bot.safeParse(spec).success;

/** @param what what is owned, as in `credential` */
export function owned(what: string) {
  return {
    spec,
    rules,
    expand,
    status: {
      ownerId: z
        .string()
        .optional()
        .meta({ description: `Id of the user or bot that owns the ${what}.` }),
    },
    column: {
      name: 'Owner',
      type: 'string',
      jsonPath: '.status.ownerId',
      description: `Owner of the ${what}.`,
      priority: 1,
    } satisfies PrinterColumn,
    about: `Id of the user or bot that owns the ${what}. Defaults to the owner of the operator's API key.`,
  };
}
