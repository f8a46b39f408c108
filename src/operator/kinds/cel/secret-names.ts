/**
 * What a Secret may contain: the rules of Kubernetes, which would otherwise apply only on write, and the operator's
 * own.
 */
import { GROUP, MANAGED_BY } from '../../contract/names.ts';
import { type CelRule, DNS_NAME } from '../../managed/declaration/cel.ts';

const NAME = '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
/** The longest DNS name. */
const MAX_PREFIX = 253;
const QUALIFIED_NAME = `^(${DNS_NAME}/)?${NAME}$`;

export const secretNameRules: readonly CelRule[] = [
  {
    rule: `self.matches('^${DNS_NAME}$')`,
    message: 'secret.name must consist of lower-case letters, digits, inner hyphens and dots, as in shop-agent-token',
  },
];

export const secretKeyRules = (idKey: string): readonly CelRule[] => [
  {
    rule: "self.matches('^[-._a-zA-Z0-9]+$')",
    message: 'secret.key must consist of letters, digits, hyphens, underscores and dots, as in AUTHTOKEN',
  },
  {
    rule: "self != '.' && !self.startsWith('..')",
    message: 'secret.key must not be "." nor start with ".."',
  },
  { rule: `self != '${idKey}'`, message: `secret.key must not be ${idKey}: that key holds the id` },
];

const prefixRule: CelRule = {
  rule: `self.all(key, key.indexOf('/') <= ${MAX_PREFIX})`,
  message: `the part of a name before its slash must have at most ${MAX_PREFIX} characters`,
};

export const labelRules: readonly CelRule[] = [
  {
    rule: `self.all(key, key.matches('${QUALIFIED_NAME}'))`,
    message:
      'label names must consist of letters, digits, inner hyphens, underscores and dots, as in app or example.com/app',
  },
  prefixRule,
  {
    rule: `!('${MANAGED_BY.label}' in self)`,
    message: `labels must not include ${MANAGED_BY.label}: the operator finds its Secrets by that label`,
  },
];

export const labelValueRules: readonly CelRule[] = [
  {
    rule: `self == '' || self.matches('^${NAME}$')`,
    message: 'a label value must consist of at most 63 letters, digits, inner hyphens, underscores and dots',
  },
];

export const annotationRules: readonly CelRule[] = [
  {
    rule: `self.all(key, key.lowerAscii().matches('${QUALIFIED_NAME}'))`,
    message:
      'annotation names must consist of letters, digits, inner hyphens, underscores and dots, as in note or example.com/note',
  },
  prefixRule,
  {
    rule: `self.all(key, !key.startsWith('${GROUP}/') && key != 'kubectl.kubernetes.io/last-applied-configuration')`,
    message: `annotation names must not start with ${GROUP}/, which the operator reserves, nor be kubectl's last-applied-configuration`,
  },
];
