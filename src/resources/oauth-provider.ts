/** The identity provider of an OAuth module, and the users allowed access: exactly one of eight providers. */
import { z } from 'zod';
import { canonicalDomain, domainForm } from './formats/domain-name.ts';
import { form, oneLine, text } from './formats/text.ts';
import { clientId, clientSecret, hidden, listOf, scopes } from './session-settings.ts';

const emailAddress = oneLine(
  text()
    .regex(/^[^\s@]{1,64}@[^\s@]{1,190}$/, 'must be an email address, as in ada@example.com')
    .meta({ maxLength: 255, examples: ['ada@example.com'] }),
);

const emailDomain = text()
  .max(253, 'must be at most 253 characters')
  .transform((input, context) => {
    const result = canonicalDomain(input);
    if ('domain' in result && !result.domain.startsWith('*.')) return result.domain;
    const message = 'reason' in result ? result.reason : 'must not be a wildcard';
    context.addIssue({ code: 'custom', message, input });
    return z.NEVER;
  })
  .meta({ examples: ['example.com'], ...domainForm({}, 'must be a domain name, as in example.com') });

const SLUG = '[A-Za-z0-9][A-Za-z0-9._-]{0,99}';
const organization = text()
  .regex(new RegExp(`^${SLUG}$`), 'must be the slug of an organisation, as in acme')
  .meta({ maxLength: 100, examples: ['acme'] });
const team = text()
  .regex(new RegExp(`^${SLUG}/${SLUG}$`), 'must be the slugs of an organisation and a team, as in acme/admins')
  .meta({ maxLength: 201, examples: ['acme/admins'] });

const EMAIL_ADDRESSES = { description: 'Email addresses of users allowed access.' };
const EMAIL_DOMAINS = { description: 'Email domains of users allowed access.' };
const TEAMS = { description: 'Teams whose members are allowed access, as `organisation/team`.' };
const ORGANIZATIONS = { description: 'Organisations whose members are allowed access.' };

const generic = {
  client_id: clientId.nullish(),
  client_secret: clientSecret.nullish(),
  scopes: scopes.nullish(),
  email_addresses: listOf(emailAddress).nullish().meta(EMAIL_ADDRESSES),
  email_domains: listOf(emailDomain).nullish().meta(EMAIL_DOMAINS),
};
const codeHost = {
  ...generic,
  teams: listOf(team).nullish().meta(TEAMS),
  organizations: listOf(organization).nullish().meta(ORGANIZATIONS),
};

interface Credentials {
  client_id?: string | null | undefined;
  client_secret?: string | null | undefined;
  scopes?: string[] | null | undefined;
}

/** Without a client id and secret, the application of the service is used, whose scopes are fixed. */
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

const SIGN_IN = {
  github: { description: 'Users sign in with GitHub.' },
  facebook: { description: 'Users sign in with Facebook.' },
  microsoft: { description: 'Users sign in with Microsoft.' },
  google: { description: 'Users sign in with Google.' },
  linkedin: { description: 'Users sign in with LinkedIn.' },
  gitlab: { description: 'Users sign in with GitLab.' },
  twitch: { description: 'Users sign in with Twitch.' },
  amazon: { description: 'Users sign in with Amazon.' },
};

/** The provider as requests carry it. */
export const providerInput = z
  .strictObject({
    github: codeHostInput.nullish().meta(SIGN_IN.github),
    facebook: genericInput.nullish().meta(SIGN_IN.facebook),
    microsoft: genericInput.nullish().meta(SIGN_IN.microsoft),
    google: genericInput.nullish().meta(SIGN_IN.google),
    linkedin: genericInput.nullish().meta(SIGN_IN.linkedin),
    gitlab: genericInput.nullish().meta(SIGN_IN.gitlab),
    twitch: genericInput.nullish().meta(SIGN_IN.twitch),
    amazon: genericInput.nullish().meta(SIGN_IN.amazon),
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
    // Not oneOf, from which client generators derive types that no value satisfies.
    ...form({ minProperties: 1 }),
  });

const OURS = 'Null if the application of the service is used.';
const shownList = z.array(z.string());
const shownGeneric = {
  client_id: z
    .string()
    .nullable()
    .meta({ description: `${clientId.description} ${OURS}` }),
  client_secret: z
    .string()
    .nullable()
    .meta({ description: `${clientSecret.description} ${OURS}` }),
  scopes: shownList.meta({ description: scopes.description }),
  email_addresses: shownList.meta(EMAIL_ADDRESSES),
  email_domains: shownList.meta(EMAIL_DOMAINS),
};
const genericView = z.object(shownGeneric).meta({ id: 'EndpointOAuthGeneric' });
const codeHostView = z
  .object({ ...shownGeneric, teams: shownList.meta(TEAMS), organizations: shownList.meta(ORGANIZATIONS) })
  .meta({ id: 'EndpointOAuthGitHub' });

/** The provider as responses show it: all eight members, one of them not null. */
export const providerView = z
  .object({
    github: codeHostView.nullable().meta(SIGN_IN.github),
    facebook: genericView.nullable().meta(SIGN_IN.facebook),
    microsoft: genericView.nullable().meta(SIGN_IN.microsoft),
    google: genericView.nullable().meta(SIGN_IN.google),
    linkedin: genericView.nullable().meta(SIGN_IN.linkedin),
    gitlab: genericView.nullable().meta(SIGN_IN.gitlab),
    twitch: genericView.nullable().meta(SIGN_IN.twitch),
    amazon: genericView.nullable().meta(SIGN_IN.amazon),
  })
  .meta({ id: 'EndpointOAuthProvider' });

const provider = z.record(z.string(), z.looseObject({ client_secret: z.unknown() }).nullable());

/** The provider as events show it. */
export const withoutSecret = (stored: unknown) =>
  Object.fromEntries(
    Object.entries(provider.parse(stored)).map(([name, settings]) => [
      name,
      settings && { ...settings, client_secret: hidden(settings.client_secret) },
    ]),
  );
