/** https URLs that are safe to store and to call. */
import { pattern, text } from './text.ts';

const MAX_LENGTH = 2048;

/** RFC 3986, without the parts refused below. `URL` alone would accept and repair malformed URLs that others read differently. */
const ORIGIN = String.raw`[Hh][Tt]{2}[Pp][Ss]://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::\d{1,5})?`;
const CHARACTER = "[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2}";
const STRICT = new RegExp(String.raw`^${ORIGIN}(?:[/?](?:${CHARACTER}|\?)*)?$`);
const ISSUER = new RegExp(`^${ORIGIN}(?:/(?:${CHARACTER})*)?$`);

const ADDRESS = 'must be an https URL in ASCII, without user name, password';

/** An https URL without user name, password and fragment, which would end up in logs. */
export const httpsUrl = address(STRICT, urlProblem, `${ADDRESS} and fragment, as in https://hooks.example.com/events`);

/** The base of a provider's discovery document (OpenID Connect Discovery 1.0, section 4): without a query. */
export const issuerUrl = address(
  ISSUER,
  (input) => urlProblem(input) ?? (input.includes('?') ? 'must not have a query' : undefined),
  `${ADDRESS}, query and fragment, as in https://accounts.example.com`,
);

function address(form: RegExp, problemOf: (input: string) => string | undefined, says: string) {
  return text()
    .max(MAX_LENGTH, `must be at most ${MAX_LENGTH} characters`)
    .superRefine((input, context) => {
      const problem = problemOf(input);
      if (problem) context.addIssue({ code: 'custom', message: problem, input });
    })
    .meta(pattern(form, says));
}

function urlProblem(input: string): string | undefined {
  if (!URL.canParse(input) || /\s/.test(input)) return 'must be an https URL';
  const { protocol, username, password } = new URL(input);
  if (protocol !== 'https:') return `must be an https URL, but is ${protocol.slice(0, -1)}`;
  if (username !== '' || password !== '') return 'must not have a user name or password';
  if (input.includes('#')) return 'must not have a fragment';
  return STRICT.test(input) ? undefined : 'must be an https URL in ASCII, with other characters percent-encoded';
}
