/**
 * The ACL of a tunnel credential: which domains, addresses and labels its token may bind.
 *
 *     *                        everything, as with no ACL
 *     bind:<domain>            one host name
 *     bind:*.<domain>          every subdomain, at any depth, and the wildcard name itself; not the domain
 *     bind:<host>:<port>       one address; an IPv6 host stands in brackets
 *     bind:<key>=<value>       one label; key, value or both may be `*`
 *
 * Rules are alternatives: a target is allowed if any rule matches. A rule matches only targets of its own form.
 * Host names compare without regard to case, labels exactly.
 */
import { z } from 'zod';
import { HOST, hostnameProblem, lowerCase, PORT } from './hostname.ts';
import { parseIpv6 } from './ipv6.ts';
import { pattern, text } from './text.ts';

export const MAX_ACL_RULES = 256;
export const MAX_ACL_RULE_LENGTH = 512;

export type Target =
  | { form: 'domain'; host: string; wildcard: boolean }
  | { form: 'address'; host: string; port: number }
  | { form: 'label'; key: string; value: string };

export type Rule = { form: 'any' } | Target;

export type Parsed<T> = { value: T } | { reason: string };

const DOMAIN = String.raw`(?:\*\.)?${HOST}`;
const ADDRESS = String.raw`(?:${HOST}|\[[0-9A-Fa-f:.]+\]):${PORT}`;
const TOKEN = '[A-Za-z0-9._/:-]{1,255}';
const WILD_TOKEN = String.raw`(?:\*|${TOKEN})`;
const RULE = new RegExp(String.raw`^(?:\*|bind:(?:${DOMAIN}|${ADDRESS}|${WILD_TOKEN}=${WILD_TOKEN}))$`);
const LABEL_TOKEN = new RegExp(`^${TOKEN}$`);
const TARGET = new RegExp(`^(?:${DOMAIN}|${ADDRESS}|${TOKEN}=${TOKEN})$`);

/** Parses one ACL rule, or says why it is not one. */
export function parseRule(rule: string): Parsed<Rule> {
  if (rule === '*') return { value: { form: 'any' } };
  if (!rule.startsWith('bind:')) {
    return { reason: 'must be "*" or start with "bind:", as in bind:example.com, bind:host:443 or bind:key=value' };
  }
  return parseTarget(rule.slice('bind:'.length), { wildcards: true });
}

/**
 * Parses what a tunnel agent asks to bind: `<domain>`, `*.<domain>`, `<host>:<port>` or `<key>=<value>`.
 * With `wildcards`, a label's key or value may be `*` (a rule, not a request).
 */
export function parseTarget(target: string, { wildcards = false } = {}): Parsed<Target> {
  if (target === '') return { reason: 'has nothing to bind after "bind:"' };
  if (/\s/.test(target)) return { reason: 'must not contain white space' };
  if (target.includes('=')) return parseLabel(target, wildcards);
  if (target.includes(':')) return parseAddress(target);
  return parseDomain(lowerCase(target));
}

function parseLabel(target: string, wildcards: boolean): Parsed<Target> {
  const [key = '', value = '', ...rest] = target.split('=');
  if (rest.length > 0) return { reason: 'a label rule must have exactly one "=", as in key=value' };
  for (const [name, token] of [
    ['key', key],
    ['value', value],
  ] as const) {
    if (token === '') return { reason: `the label's ${name} is empty` };
    if (token === '*' && wildcards) continue;
    if (token.includes('*')) {
      return {
        reason: `the label's ${name} ${wildcards ? 'may be "*", but must not contain it' : 'must not be a wildcard'}`,
      };
    }
    if (!LABEL_TOKEN.test(token))
      return { reason: `the label's ${name} may contain only letters, digits and . _ / : -` };
  }
  return { value: { form: 'label', key, value } };
}

function parseAddress(target: string): Parsed<Target> {
  const match = /^(?:\[([^\]]*)\]|([^:]*)):([^:]*)$/.exec(target);
  if (!match) return { reason: 'must have the form host:port; put an IPv6 host in brackets, as in [2001:db8::1]:443' };
  const [, v6, name, portText = ''] = match;
  if (!/^[1-9]\d{0,4}$/.test(portText) || Number(portText) > 65535) {
    return { reason: `the port must be a number from 1 to 65535, not "${portText}"` };
  }
  const port = Number(portText);
  if (v6 !== undefined) {
    const parsed = parseIpv6(v6);
    if (!parsed) return { reason: `"${v6}" is not an IPv6 address` };
    return { value: { form: 'address', host: parsed.toRFC5952String(), port } };
  }
  const host = lowerCase(name ?? '');
  if (host.includes('*'))
    return { reason: 'an address rule takes no wildcard; use a domain rule such as *.example.com' };
  const problem = hostnameProblem(host);
  return problem ? { reason: problem } : { value: { form: 'address', host, port } };
}

function parseDomain(target: string): Parsed<Target> {
  const wildcard = target.startsWith('*.');
  const host = wildcard ? target.slice(2) : target;
  if (target === '*')
    return { reason: 'a domain rule needs a domain after "*."; use the rule "*" to permit everything' };
  if (host.includes('*')) return { reason: '"*" may appear only once, as the leftmost label, as in *.example.com' };
  const problem = hostnameProblem(host);
  return problem ? { reason: problem } : { value: { form: 'domain', host, wildcard } };
}

/** Whether one rule permits binding the target. */
export function permits(rule: Rule, target: Target): boolean {
  if (rule.form === 'any') return true;
  if (rule.form === 'domain' && target.form === 'domain') {
    if (!rule.wildcard) return !target.wildcard && rule.host === target.host;
    return target.host.endsWith(`.${rule.host}`) || (target.wildcard && target.host === rule.host);
  }
  if (rule.form === 'address' && target.form === 'address')
    return rule.host === target.host && rule.port === target.port;
  if (rule.form === 'label' && target.form === 'label') {
    return (rule.key === '*' || rule.key === target.key) && (rule.value === '*' || rule.value === target.value);
  }
  return false;
}

/**
 * Decides a bind request. An empty ACL permits everything (`matchedRule` null); else the first rule that permits the
 * target decides. Rules are taken as stored, so they parse.
 */
export function decide(acl: readonly string[], target: Target): { allowed: boolean; matchedRule: string | null } {
  if (acl.length === 0) return { allowed: true, matchedRule: null };
  const matched = acl.find((rule) => {
    const parsed = parseRule(rule);
    return 'value' in parsed && permits(parsed.value, target);
  });
  return { allowed: matched !== undefined, matchedRule: matched ?? null };
}

/** An ACL as requests carry it. Each malformed rule is reported at its index. */
export const acl = z
  .array(
    text()
      .max(MAX_ACL_RULE_LENGTH, `must be at most ${MAX_ACL_RULE_LENGTH} characters`)
      .superRefine((rule, context) => {
        const parsed = parseRule(rule);
        if ('reason' in parsed) {
          context.addIssue({ code: 'custom', message: `"${rule.slice(0, 80)}": ${parsed.reason}`, input: rule });
        }
      })
      .meta(pattern(RULE, 'must be "*" or a rule such as bind:*.example.com or bind:app=web')),
  )
  .max(MAX_ACL_RULES, `must have at most ${MAX_ACL_RULES} rules`)
  .meta({
    description:
      'Bind rules: what the token may bind. Any one matching rule is enough. Without rules, it may bind everything.',
    examples: [['bind:*.example.com', 'bind:app=web']],
  });

/** A bind target as `POST /credentials/authenticate` takes it. */
export const bindTarget = text()
  .max(MAX_ACL_RULE_LENGTH)
  .superRefine((target, context) => {
    const parsed = parseTarget(target);
    if ('reason' in parsed) context.addIssue({ code: 'custom', message: parsed.reason, input: target });
  })
  .meta({
    ...pattern(TARGET, 'must be a bind target, as in app.example.com, app.example.com:443 or app=web'),
    examples: ['app.example.com'],
  });
