/** Schemas of settings; flags and variables hold only text. */
import { z } from 'zod';
import { DURATION_PATTERN, parseDuration } from './duration.ts';

export function wholeNumber(least: number, most: number) {
  const error = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^-?\d{1,16}$/, { error, abort: true })
    .transform(Number)
    .refine((value) => value >= least && value <= most, error);
}

/** Milliseconds. Bounded, since a timeout of zero would end every call, and a pause of zero would never wait. */
export function duration(least: string, most: string) {
  const error = `must be a duration from ${least} to ${most}, such as 90s or 1h30m`;
  const [leastMs, mostMs] = [parseDuration(least), parseDuration(most)];
  return z
    .string()
    .regex(new RegExp(DURATION_PATTERN), { error, abort: true })
    .transform((text) => Math.round(parseDuration(text)))
    .refine((ms) => ms >= leastMs && ms <= mostMs, error);
}

export const onOff = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true');

const NAMES = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\\s*,\\s*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*';

const splitNames = (text: string) => text.split(',').map((name) => name.trim());

/** Names of Kubernetes objects, separated by commas; "-" is an empty list. */
export const names = z
  .string()
  .regex(new RegExp(`^(?:-|${NAMES})$`), 'must be names separated by commas, or "-" for none')
  .transform((text) => (text === '-' ? [] : splitNames(text)));

/** The same, with at least one name. */
export const someNames = z
  .string()
  .regex(new RegExp(`^${NAMES}$`), 'must be names separated by commas')
  .transform(splitNames);

export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

/** A URL to which paths are appended. */
export const httpBaseUrl = httpUrl
  .refine((url) => !/[?#]/.test(url), 'must have no query and no fragment')
  .transform((url) => url.replace(/\/+$/, ''));

/** The URL of the management API. It takes no password, which would never be sent, but be shown in errors and links. */
export const apiBaseUrl = httpBaseUrl.refine(
  (url) => !/^[^/]*\/\/[^/]*@/.test(url),
  'must have no user and no password',
);

/** Several of them, separated by commas. */
export const apiBaseUrls = z
  .string()
  .transform((text) => text.split(',').map((url) => url.trim()))
  .pipe(z.array(apiBaseUrl));

/** An API key, as a header can carry it. */
export const apiKeyText = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII characters: no spaces, and no line break at the end');
