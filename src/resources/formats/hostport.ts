/** Where an edge listens: `<domain>:<port>`, with or without a leading `*.`. */
import { z } from 'zod';
import { canonicalDomain, domainForm, WILDCARD } from './domain-name.ts';
import { PORT } from './hostname.ts';
import { text } from './text.ts';

const FORM = 'must have the form domain:port, as in app.example.com:443';

export const hostport = text()
  .max(1024, 'must be at most 1024 characters')
  .transform((input, context) => {
    const refuse = (message: string) => {
      context.addIssue({ code: 'custom', message, input });
      return z.NEVER;
    };
    const match = /^([^:]+):([1-9]\d{0,4})$/.exec(input);
    if (!match || Number(match[2]) > 65_535) return refuse(FORM);
    const result = canonicalDomain(match[1] ?? '');
    return 'reason' in result ? refuse(`the domain: ${result.reason}`) : `${result.domain}:${match[2]}`;
  })
  .meta({ examples: ['app.example.com:443'], ...domainForm({ before: WILDCARD, after: `:${PORT}` }, FORM) });

/** The domain of a hostport. */
export const hostOf = (stored: string) => stored.slice(0, stored.lastIndexOf(':'));
