/** A plan for people to read, and for programs. */
import type { Action, Planned, PlannedChange } from './planned.ts';

const TITLES: Readonly<Record<Action, string>> = {
  create: '+ create',
  change: '~ change',
  replace: '-/+ replace',
  none: '= no change',
  blocked: '! blocked',
};

const COUNTED: Readonly<Record<Action, string>> = {
  create: 'to create',
  change: 'to change',
  replace: 'to replace',
  none: 'without a change',
  blocked: 'blocked',
};

const ACTIONS = Object.keys(TITLES).filter((action): action is Action => action in TITLES);

const countOf = (plans: readonly Planned[], action: Action) => plans.filter((each) => each.action === action).length;

/** @param notes what could not be checked, and why */
export function asText(plans: readonly Planned[], notes: readonly string[] = []): string {
  const counts = ACTIONS.map((action) => `${countOf(plans, action)} ${COUNTED[action]}`);
  const objects = [...plans.flatMap(linesOf), ...(plans.length > 0 ? [''] : [])];
  return [...objects, ...notes.map((note) => `Note: ${note}`), `Plan: ${counts.join(', ')}.`, ''].join('\n');
}

export function asJson(plans: readonly Planned[], notes: readonly string[] = []): string {
  const summary = Object.fromEntries(ACTIONS.map((action) => [action, countOf(plans, action)]));
  const objects = plans.map((plan) => ({ ...plan, changes: plan.changes.map(changeInJson) }));
  return `${JSON.stringify({ summary, objects, notes }, null, 2)}\n`;
}

/** As JSON has no undefined, null stands for nothing. */
function changeInJson(change: PlannedChange) {
  if ('isSecret' in change) return { path: change.path, secret: 'changed' };
  const { path, before = null, after = null } = change;
  return { path, before, after };
}

function linesOf({ action, kind, namespace, name, id, reason, changes }: Planned): string[] {
  const about = [...(id === undefined ? [] : [id]), ...(reason === undefined ? [] : [reason])].join(': ');
  const title = `${TITLES[action]} ${kind} ${namespace}/${name}${about === '' ? '' : ` (${about})`}`;
  return [title, ...changes.map((change) => `    ${lineOf(change, action)}`)];
}

function lineOf(change: PlannedChange, action: Action): string {
  if ('isSecret' in change) return `${change.path}: ${action === 'create' ? '(secret)' : '(secret) changed'}`;
  const { path, before, after } = change;
  return action === 'create' ? `${path}: ${inOneLine(after)}` : `${path}: ${inOneLine(before)} → ${inOneLine(after)}`;
}

const MAX_LENGTH = 160;

/** Any value, shortened to fit a line. */
function inOneLine(value: unknown): string {
  if (value === undefined) return '(none)';
  const text = JSON.stringify(value);
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH)}… (${text.length} characters)`;
}
