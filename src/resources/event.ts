/** The audit log (extension): the events of all changes, which can only be read. */
import { z } from 'zod';
import { apiKey } from './api-key.ts';
import { botUser } from './bot-user.ts';
import type { Filter } from './definition/filter.ts';
import { idOf, idPattern } from './definition/id.ts';
import { FAMILIES } from './families.ts';
import { text, timestamp } from './formats/text.ts';
import { user } from './user.ts';

const PREFIX = 'ev';
/** The principal of changes that nobody has asked for. */
export const SERVICE = 'service';
const principal = z
  .string()
  .regex(
    new RegExp(`^(${idPattern(user.prefix, botUser.prefix)}|${SERVICE})$`),
    `must be the id of a user or bot, or "${SERVICE}"`,
  )
  .meta({ examples: ['usr_01k9zq3v5hf8svx2r4c6y7n0wd'] });
const ofEarlierReleases = 'Null for events of releases that did not record it';

const members = {
  id: idOf(PREFIX).meta({ description: 'Identifies the event.' }),
  uri: z.url().meta({ description: 'Address of the event.' }),
  type: z
    .string()
    .meta({ description: 'What has happened; `/event_types` lists all.', examples: ['ip_policy_updated.v0'] }),
  occurred_at: timestamp().meta({ description: 'When the change was made.' }),
  resource_id: z
    .string()
    .meta({ description: 'Id of the resource that has changed.', examples: ['ipp_01k9zq3v5hf8svx2r4c6y7n0wd'] }),
  principal: principal.meta({
    description: `Id of the user or bot who made the change; "${SERVICE}" if the service did by itself.`,
  }),
  api_key_id: apiKey.id.nullable().meta({
    description: `Id of the API key that they used. ${ofEarlierReleases}, and for the first key.`,
  }),
  request_id: z
    .string()
    .nullable()
    .meta({
      examples: ['9b4f1c1e-6d53-4c1b-8f0e-0d7f4f0c2f6a'],
      description: `Id of the request, as in its response and in the log. ${ofEarlierReleases}, and for the first key.`,
    }),
  revision: z
    .int()
    .nullable()
    .meta({
      examples: [2],
      description: `Revision of the resource after the change. A deletion counts as one. ${ofEarlierReleases}.`,
    }),
  changed_fields: z
    .array(z.string())
    .nullable()
    .meta({
      examples: [['description']],
      description: 'Members of `data` that an update has changed. Null for a creation and a deletion.',
    }),
};

export const event = z.object(members).meta({ id: 'Event', description: 'A change of a resource.' });

export const eventWithData = z
  .object({
    ...members,
    data: z.record(z.string(), z.unknown()).meta({
      examples: [{ id: 'ipp_01k9zq3v5hf8svx2r4c6y7n0wd', description: 'for the Berlin office' }],
      description: 'The resource after the change, or before its deletion, as GET shows it, without secrets.',
    }),
  })
  .meta({ id: 'EventWithData', description: 'A change of a resource, with the resource.' });

/** As `resource` would declare it, if events could be written. */
export const eventLog = {
  title: 'Event',
  prefix: PREFIX,
  path: '/events',
  collection: 'events',
  table: 'events',
  access: 'anyone',
  view: event,
} as const;

const typeName = text().min(1, 'must not be empty').max(128, 'must be at most 128 characters');
const requestId = text()
  .regex(/^[\x21-\x7e]{1,128}$/, 'must be the id of a request')
  .meta({ examples: ['9b4f1c1e-6d53-4c1b-8f0e-0d7f4f0c2f6a'] });
const memberName = text()
  .regex(/^[a-z0-9_]{1,128}$/, 'must be the name of a member of `data`')
  .meta({ examples: ['description'] });

/** What the list can be limited by, any of them together. */
export const EVENT_FILTERS = [
  { name: 'type', field: 'type', by: 'value', schema: typeName },
  {
    name: 'resource_id',
    field: 'resource_id',
    by: 'value',
    schema: idOf(...FAMILIES.map(({ prefix }) => prefix)),
  },
  { name: 'principal', field: 'principal', by: 'value', schema: principal },
  { name: 'api_key_id', field: 'api_key_id', by: 'value', schema: apiKey.id },
  { name: 'request_id', field: 'request_id', by: 'value', schema: requestId },
  { name: 'changed_fields', field: 'changed_fields', by: 'element', schema: memberName },
] as const satisfies readonly Filter[];

export type EventFilters = { readonly [N in (typeof EVENT_FILTERS)[number]['name']]?: string | undefined };
