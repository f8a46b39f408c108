/** Settings that the OIDC and OAuth modules share. */
import { z } from 'zod';
import { enabled, setting } from './definition/module.ts';
import { distinct } from './formats/distinct.ts';
import { pattern, text } from './formats/text.ts';

const UINT32_MAX = 4_294_967_295;

/** Seconds, with 0 for "not set". */
export function seconds(description: string) {
  const message = `must be a whole number from 0 to ${UINT32_MAX}`;
  const schema = z.number().int(message).min(0, message).max(UINT32_MAX, message);
  return setting(schema.meta({ description: `${description} 0: not set.`, examples: [3600] }), 0);
}

/** Characters of a cookie's name (RFC 6265, section 4.1.1). */
const cookiePrefix = text().regex(
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]{0,64}$/,
  'must be at most 64 characters of a cookie name (letters, digits and most punctuation)',
);

export const session = {
  enabled,
  options_passthrough: setting(
    z
      .boolean()
      .meta({ description: 'Whether OPTIONS requests pass without authentication, as CORS requires. Default false.' }),
    false,
  ),
  cookie_prefix: setting(
    cookiePrefix.meta({
      description: 'Prefix of the name of the session cookie. If empty, `service.` is used.',
      examples: ['acme.'],
    }),
    '',
  ),
  inactivity_timeout: seconds('Seconds of inactivity after which a session ends.'),
  maximum_duration: seconds('Seconds after which a session ends, even if it is active.'),
};

const MAX_LIST = 250;

/** A list of distinct values. */
export function listOf<T extends z.ZodType>(member: T) {
  return distinct(z.array(member).max(MAX_LIST, `must have at most ${MAX_LIST}`));
}

/** RFC 6749, section 3.3. */
export const scopes = listOf(
  text()
    .regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,255}$/, 'must be a single scope: 1 to 255 characters without spaces or quotes')
    .meta({ maxLength: 255 }),
).meta({ description: 'Scopes to request from the provider.', examples: [['openid', 'email']] });

/** VSCHAR of RFC 6749, appendix A. */
const PRINTABLE = /^[\x20-\x7e]*$/;
const NOT_PRINTABLE = 'must be printable ASCII, without the line break with which text in a file often ends';

const clientText = (max: number) =>
  text()
    .min(1, 'must not be empty')
    .max(max, `must be at most ${max} characters`)
    .refine((value) => PRINTABLE.test(value), NOT_PRINTABLE)
    .meta(pattern(PRINTABLE, NOT_PRINTABLE));

export const clientId = clientText(1024).meta({
  description: 'Client id of your application, as registered with the provider.',
  examples: ['my-application'],
});

/** A secret as events show it. */
export const hidden = (secret: unknown) => (typeof secret === 'string' ? '…' : secret);

/** Sealed in the database. Responses show it. */
export const clientSecret = clientText(4096).meta({
  description: 'Client secret of your application, as registered with the provider.',
  examples: ['my-secret'],
});
