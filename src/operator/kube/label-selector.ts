/** Label selectors as kubectl takes them, matched in this process. Pure. */

interface Requirement {
  key: string;
  operator: 'in' | 'notin' | 'exists' | 'absent';
  values: readonly string[];
}

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/ */
export interface LabelSelectorObject {
  matchLabels?: Readonly<Record<string, string>> | undefined;
  matchExpressions?:
    | readonly { key: string; operator: keyof typeof OPERATORS; values?: readonly string[] | undefined }[]
    | undefined;
}

const OPERATORS = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: 'absent' } as const;

const NAME = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
const KEY = `((?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?${NAME})`;
const VALUE = `(?:${NAME})?`;
const PRESENCE = new RegExp(`^(!?)\\s*${KEY}$`);
const EQUALITY = new RegExp(`^${KEY}\\s*(==|=|!=)\\s*(${VALUE})$`);
const SET = new RegExp(`^${KEY}\\s+(in|notin)\\s*\\(\\s*(${VALUE}(?:\\s*,\\s*${VALUE})*)\\s*\\)$`);
const COMMA_OUTSIDE_OF_A_SET = /,(?![^(]*\))/;

export class LabelSelector {
  readonly #requirements: readonly Requirement[];

  private constructor(requirements: readonly Requirement[]) {
    this.#requirements = requirements;
  }

  /** Undefined if the text is no selector, or an empty one, which would select everything. */
  static parse(text: string): LabelSelector | undefined {
    const requirements = text.split(COMMA_OUTSIDE_OF_A_SET).map((part) => readRequirement(part.trim()));
    const valid = requirements.filter((requirement) => requirement !== undefined);
    return valid.length === requirements.length ? new LabelSelector(valid) : undefined;
  }

  /** From the form that objects have; an empty one selects everything. */
  static fromObject({ matchLabels = {}, matchExpressions = [] }: LabelSelectorObject): LabelSelector {
    const equal = Object.entries(matchLabels).map(([key, value]) => ({ key, operator: OPERATORS.In, values: [value] }));
    const others = matchExpressions.map(({ key, operator, values = [] }) => {
      return { key, operator: OPERATORS[operator], values };
    });
    return new LabelSelector([...equal, ...others]);
  }

  matches(labels: Readonly<Record<string, string>> = {}): boolean {
    return this.#requirements.every((requirement) => isMet(requirement, labels));
  }

  /** The same text for every spelling of the same requirements. */
  toString(): string {
    const parts = this.#requirements.map(({ key, operator, values }) =>
      operator === 'exists' ? key : operator === 'absent' ? `!${key}` : `${key} ${operator} (${[...values].sort()})`,
    );
    return [...new Set(parts)].sort().join(',');
  }
}

function isMet({ key, operator, values }: Requirement, labels: Readonly<Record<string, string>>): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  const isIn = value !== undefined && values.includes(value);
  switch (operator) {
    case 'in':
      return isIn;
    // As for the API server, what lacks the label is not in the set.
    case 'notin':
      return !isIn;
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
  }
}

function readRequirement(text: string): Requirement | undefined {
  const [, not, present] = PRESENCE.exec(text) ?? [];
  if (present !== undefined) return { key: present, operator: not ? 'absent' : 'exists', values: [] };
  const [, key, sign, value] = EQUALITY.exec(text) ?? [];
  if (key !== undefined) return { key, operator: sign === '!=' ? 'notin' : 'in', values: [value ?? ''] };
  const [, member, operator, values = ''] = SET.exec(text) ?? [];
  if (member === undefined) return undefined;
  const unique = new Set(values.split(',').map((each) => each.trim()));
  return { key: member, operator: operator === 'in' ? 'in' : 'notin', values: [...unique] };
}
