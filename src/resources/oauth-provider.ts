/** The identity provider of an OAuth module, and whom it lets in: exactly one of eight. */
import { z } from 'zod';
import { canonicalDomain } from './formats/domain-name.ts';
import { form, pattern, text } from './formats/text.ts';
import { clientId, clientSecret, listOf, scopes } from './session-settings.ts';

const emailAddress = text()
  .regex(/^[^\s@]{1,64}@[^\s@]{1,190}$/, 'must be an email address, as in ada@example.com')
  .meta({ maxLength: 255, examples: ['ada@example.com'] });

const emailDomain = text()
  .max(253, 'must be at most 253 characters')
  .transform((input, context) => {
    const result = canonicalDomain(input);
    if ('domain' in result && !result.domain.startsWith('*.')) return result.domain;
    const message = 'reason' in result ? result.reason : 'must not be a wildcard';
    context.addIssue({ code: 'custom', message, input });
    return z.NEVER;
  })
  .meta({ examples: ['example.com'], ...pattern(/^[^\s:*]+$/, 'must be a domain name, as in example.com') });

const SLUG = '[A-Za-z0-9][A-Za-z0-9._-]{0,99}';
const organization = text()
  .regex(new RegExp(`^${SLUG}$`), 'must be the slug of an organisation, as in acme')
  .meta({ maxLength: 100, examples: ['acme'] });
const team = text()
  .regex(new RegExp(`^${SLUG}/${SLUG}$`), 'must be the slugs of an organisation and a team, as in acme/admins')
  .meta({ maxLength: 201, examples: ['acme/admins'] });

const generic = {
  client_id: clientId.nullish(),
  client_secret: clientSecret.nullish(),
  scopes: scopes.nullish(),
  email_addresses: listOf(emailAddress).nullish().meta({ description: 'Users who are let in.' }),
  email_domains: listOf(emailDomain)
    .nullish()
    .meta({ description: 'Users with addresses in these domains are let in.' }),
};
const codeHost = {
  ...generic,
  teams: listOf(team).nullish().meta({ description: 'Members of any of these are let in.' }),
  organizations: listOf(organization).nullish().meta({ description: 'Members of any of these are let in.' }),
};

interface Credentials {
  client_id?: string | null | undefined;
  client_secret?: string | null | undefined;
  scopes?: string[] | null | undefined;
}

/** Without credentials of one's own, those of the service are used, and their scopes are fixed. */
function checkCredentials(given: Credentials, context: z.RefinementCtx): void {
  const refuse = (member: keyof Credentials, message: string) =>
    context.addIssue({ code: 'custom', path: [member], message, input: undefined });
  const [id, secret] = [given.client_id ?? undefined, given.client_secret ?? undefined];
  if (id !== undefined && secret === undefined) refuse('client_secret', 'is required with a client_id');
  if (id === undefined && secret !== undefined) refuse('client_id', 'is required with a client_secret');
  const scoped = (given.scopes ?? []).length > 0;
  if (scoped && (id === undefined || secret === undefined)) {
    refuse('scopes', 'may be set only with your own client_id and client_secret');
  }
}

const credentials = (given: Credentials) => ({
  client_id: given.client_id ?? null,
  client_secret: given.client_secret ?? null,
  scopes: given.scopes ?? [],
});

const genericInput = z
  .strictObject(generic)
  .superRefine(checkCredentials)
  .transform((given) => ({
    ...credentials(given),
    email_addresses: given.email_addresses ?? [],
    email_domains: given.email_domains ?? [],
  }))
  .meta({ id: 'EndpointOAuthGenericReplace' });

const codeHostInput = z
  .strictObject(codeHost)
  .superRefine(checkCredentials)
  .transform((given) => ({
    ...credentials(given),
    email_addresses: given.email_addresses ?? [],
    email_domains: given.email_domains ?? [],
    teams: given.teams ?? [],
    organizations: given.organizations ?? [],
  }))
  .meta({ id: 'EndpointOAuthGitHubReplace' });

export const OAUTH_PROVIDERS = [
  'github',
  'facebook',
  'microsoft',
  'google',
  'linkedin',
  'gitlab',
  'twitch',
  'amazon',
] as const;

const signsInWith = <T extends z.ZodType>(provider: string, input: T) =>
  input.nullish().meta({ description: `Users sign in with ${provider}.` });

/** The provider as requests carry it. */
export const providerInput = z
  .strictObject({
    github: signsInWith('GitHub', codeHostInput),
    facebook: signsInWith('Facebook', genericInput),
    microsoft: signsInWith('Microsoft', genericInput),
    google: signsInWith('Google', genericInput),
    linkedin: signsInWith('LinkedIn', genericInput),
    gitlab: signsInWith('GitLab', genericInput),
    twitch: signsInWith('Twitch', genericInput),
    amazon: signsInWith('Amazon', genericInput),
  })
  .superRefine((given, context) => {
    const used = OAUTH_PROVIDERS.filter((name) => (given[name] ?? null) !== null);
    if (used.length === 1) return;
    const said = used.length === 0 ? 'none' : used.join(' and ');
    context.addIssue({
      code: 'custom',
      message: `must have exactly one of ${OAUTH_PROVIDERS.join(', ')}, but has ${said}`,
      input: undefined,
    });
  })
  .transform((given) => Object.fromEntries(OAUTH_PROVIDERS.map((name) => [name, given[name] ?? null])))
  .meta({
    id: 'EndpointOAuthProviderReplace',
    examples: [{ github: { organizations: ['acme'] } }],
    description: 'Exactly one member is not null.',
    // No more: of the keywords that could say so, generators of clients make types that nothing fits.
    ...form({ minProperties: 1 }),
  });

const shownList = z.array(z.string());
const shownGeneric = {
  client_id: z.string().nullable().meta({ description: 'Null if the application of the service is used.' }),
  client_secret: z.string().nullable(),
  scopes: shownList,
  email_addresses: shownList,
  email_domains: shownList,
};
const genericView = z.object(shownGeneric).meta({ id: 'EndpointOAuthGeneric' });
const codeHostView = z
  .object({ ...shownGeneric, teams: shownList, organizations: shownList })
  .meta({ id: 'EndpointOAuthGitHub' });

/** The provider as responses show it: all eight members, of which one is not null. */
export const providerView = z
  .object({
    github: codeHostView.nullable(),
    facebook: genericView.nullable(),
    microsoft: genericView.nullable(),
    google: genericView.nullable(),
    linkedin: genericView.nullable(),
    gitlab: genericView.nullable(),
    twitch: genericView.nullable(),
    amazon: genericView.nullable(),
  })
  .meta({ id: 'EndpointOAuthProvider' });
