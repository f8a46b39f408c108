/** Who owns what an object stands for: a user or bot by `ownerId`, or a BotUser by `ownerRef`. */
import { z } from 'zod';
import { botUser } from '../../resources/bot-user.ts';
import { idOf } from '../../resources/definition/id.ts';
import type { CelRule } from '../managed/cel.ts';
import { Reference } from '../managed/inputs/input.ts';
import { refTo } from '../managed/inputs/schemas.ts';
import type { PrinterColumn } from '../managed/kind.ts';

const spec = { ownerRef: refTo([botUser], 'The bot that owns it. Immutable.', { isImmutable: true }).optional() };

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

/** The family knows ids only. */
function expand<Spec extends { ownerRef?: unknown }>({ ownerRef, ...others }: Spec) {
  return ownerRef === undefined ? others : { ...others, ownerId: ownerRef };
}

const botId = idOf(botUser.prefix);
/** By name, nothing but a BotUser can be the owner. */
const bot = z.union([z.object({ ownerRef: z.union([botId, z.instanceof(Reference)]) }), z.object({ ownerId: botId })]);

/**
 * Whether it names a bot, once its references are resolved or before. Bots are never admins; where nobody is named, the
 * owner is that of the operator's API key, who usually is one.
 */
export const isOwnedByBot = (spec: unknown) => bot.safeParse(spec).success;

/** @param what whose owner it is, as in `credential` */
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
