/** Where an event destination sends events: a target of exactly one kind. */
import { z } from 'zod';
import { orNone } from './definition/none.ts';
import { distinct } from './formats/distinct.ts';
import { headers } from './formats/response-headers.ts';
import { form, text } from './formats/text.ts';
import { hostOnly, webUrl } from './formats/web-url.ts';

const WEBHOOK = { description: 'A web server that events are posted to, as CloudEvents and signed.' };
const webhookUrl = {
  description: 'URL that events are posted to. http is for hosts that the API allows it for.',
  examples: ['https://hooks.example.com/tunnels'],
};
const webhook = z.strictObject({ url: webUrl.meta(webhookUrl) }).meta({ id: 'WebhookInput' });
const shownWebhook = z.object({ url: z.url().meta(webhookUrl) }).meta({ id: 'Webhook' });

const DATADOG = { description: 'The log intake of Datadog.' };
const API_KEY = { description: 'API key of the Datadog organisation.', examples: ['0123456789abcdef0123456789abcdef'] };
const SITE = { description: 'Site of the Datadog organisation. Default datadoghq.com.', examples: ['datadoghq.eu'] };
const TAGS = { description: 'Tags of the logs.', examples: [['env:production']] };
export const DATADOG_SITES = [
  ...(['datadoghq.com', 'us3.datadoghq.com', 'us5.datadoghq.com', 'datadoghq.eu'] as const),
  ...(['ap1.datadoghq.com', 'ap2.datadoghq.com', 'ddog-gov.com'] as const),
] as const;
const site = z.enum(DATADOG_SITES).meta(SITE);
const tags = distinct(
  z
    .array(
      text()
        .regex(/^[^\s,]{1,200}$/, 'must be 1 to 200 characters without white space and commas, as in env:production')
        .meta({ maxLength: 200 }),
    )
    .max(32, 'must have at most 32'),
);
const datadog = z
  .strictObject({
    api_key: text()
      .regex(/^[!-~]{16,128}$/, 'must be 16 to 128 printable ASCII characters without spaces')
      .meta({ maxLength: 128, ...API_KEY }),
    site: orNone(site).optional(),
    tags: tags.nullish().meta(TAGS),
  })
  .transform((given) => ({
    api_key: given.api_key,
    site: given.site ?? ('datadoghq.com' as const),
    tags: given.tags ?? [],
  }))
  .meta({ id: 'DatadogInput' });
const shownDatadog = z
  .object({ api_key: z.string().meta(API_KEY), site, tags: z.array(z.string()).meta(TAGS) })
  .meta({ id: 'Datadog' });

const OTLP_LOGS = { description: 'A server that takes logs by OTLP over HTTP, such as an OpenTelemetry collector.' };
const otlpUrl = {
  description: 'URL that log records are posted to, with its path. http is for hosts that the API allows it for.',
  examples: ['https://otel.example.com/v1/logs'],
};
const otlpHeaders = {
  description: 'Headers of the requests, such as one that authenticates them. Names are stored in lower case.',
  examples: [{ authorization: 'Bearer 0123456789abcdef' }],
};
/** Headers that the sender sets, or that would change to whom it speaks. */
const SENDERS = ['content-type', 'expect', 'host', 'user-agent'];
const requestHeaders = headers
  .superRefine((given, context) => {
    for (const name of SENDERS.filter((each) => each in given))
      context.addIssue({ code: 'custom', path: [name], message: 'is set by the service', input: given });
  })
  .meta(otlpHeaders);
const otlpLogs = z
  .strictObject({ url: webUrl.meta(otlpUrl), headers: requestHeaders.nullish() })
  .transform((given) => ({ url: given.url, headers: given.headers ?? {} }))
  .meta({ id: 'OTLPLogsInput' });
const shownOtlpLogs = z
  .object({ url: z.url().meta(otlpUrl), headers: z.record(z.string(), z.string()).meta(otlpHeaders) })
  .meta({ id: 'OTLPLogs' });

export const TARGETS = ['webhook', 'datadog', 'otlp_logs'] as const;
const EXAMPLES = { examples: [{ webhook: { url: 'https://hooks.example.com/tunnels' } }] };

/** The target as requests carry it. */
export const targetInput = z
  .strictObject({
    webhook: webhook.nullish().meta(WEBHOOK),
    datadog: datadog.nullish().meta(DATADOG),
    otlp_logs: otlpLogs.nullish().meta(OTLP_LOGS),
  })
  .superRefine((given, context) => {
    const used = TARGETS.filter((name) => (given[name] ?? null) !== null);
    if (used.length === 1) return;
    const said = used.length === 0 ? 'none' : used.join(' and ');
    const message = `must have exactly one of ${TARGETS.join(', ')}, but has ${said}`;
    context.addIssue({ code: 'custom', message, input: undefined });
  })
  .transform(({ webhook, datadog, otlp_logs }) => ({
    ...(webhook && { webhook }),
    ...(datadog && { datadog }),
    ...(otlp_logs && { otlp_logs }),
  }))
  // Not oneOf, from which client generators derive types that no value satisfies.
  .meta({ id: 'EventTargetInput', ...EXAMPLES, ...form({ minProperties: 1 }) });

/** The target as responses show it: the one member that is set. */
export const shownTarget = z
  .object({
    webhook: shownWebhook.optional().meta(WEBHOOK),
    datadog: shownDatadog.optional().meta(DATADOG),
    otlp_logs: shownOtlpLogs.optional().meta(OTLP_LOGS),
  })
  .meta({ id: 'EventTarget', ...EXAMPLES });

/** Exactly one of its members is set. */
export type EventTarget = z.output<typeof shownTarget>;

const HIDDEN = '…';

/** The target without its secrets. */
export function shortTarget(value: unknown): EventTarget {
  const { webhook, datadog, otlp_logs } = storedTarget.parse(value);
  return {
    ...(webhook && { webhook: { url: hostOnly(webhook.url) } }),
    ...(datadog && { datadog: { ...datadog, api_key: HIDDEN } }),
    ...(otlp_logs && {
      otlp_logs: {
        url: hostOnly(otlp_logs.url),
        headers: Object.fromEntries(Object.keys(otlp_logs.headers).map((name) => [name, HIDDEN])),
      },
    }),
  };
}

/** As the database has it: a shortened URL is no URL. */
export const storedTarget = shownTarget.extend({
  webhook: z.object({ url: z.string() }).optional(),
  otlp_logs: shownOtlpLogs.extend({ url: z.string() }).optional(),
});
