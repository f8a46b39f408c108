/** The changes made to the source to see whether a test notices. */
import { child, isNode, parse, type SyntaxNode, walk } from './syntax.ts';

interface Mutation {
  /** Offsets of the replaced text in the source. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** Counted from 1. */
  readonly line: number;
  /** The lines before and after, without indentation: `a <= b → a < b`. */
  readonly text: string;
}

/** One mutation of one file. */
export interface Mutant extends Mutation {
  readonly file: string;
  readonly source: string;
}

export const mutantsOf = (file: string, source: string): Mutant[] =>
  mutationsOf(source).map((mutation) => ({ ...mutation, file, source }));

type Change = Pick<Mutation, 'start' | 'end' | 'replacement'>;

/** Every mutation of a source file, in its order. */
export function mutationsOf(source: string): Mutation[] {
  const changes: Change[] = [];
  walk(parse(source), (node, parents) => {
    if (isLeftAlone(node)) return false;
    changes.push(...changesOf(node, parents.at(-1), source));
    return true;
  });
  return changes.map((change) => ({ ...change, ...describe(change, source) }));
}

export function mutate(source: string, { start, end, replacement }: Change): string {
  return source.slice(0, start) + replacement + source.slice(end);
}

/** Types have no effect at run time, but these nodes contain a value. */
const AROUND_A_VALUE = ['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression'];

/** Types, imports, and code that only writes to the log. */
function isLeftAlone(node: SyntaxNode): boolean {
  if (node.type.startsWith('TS')) return !AROUND_A_VALUE.includes(node.type);
  if (node.type === 'ImportDeclaration') return true;
  return node.type === 'ExpressionStatement' && isLogCall(child(node, 'expression'));
}

function isLogCall(node: SyntaxNode | undefined): boolean {
  const callee = node?.type === 'CallExpression' ? child(node, 'callee') : undefined;
  const object = callee && child(callee, 'object');
  return nameOf(object) === 'log' || nameOf(object && child(object, 'property')) === 'log';
}

const SWAPPED: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
};
const METHODS: Readonly<Record<string, string>> = { min: 'max', max: 'min', some: 'every', every: 'some' };

function changesOf(node: SyntaxNode, parent: SyntaxNode | undefined, source: string): Change[] {
  const as = (replacement: string, of: SyntaxNode = node): Change => ({ start: of.start, end: of.end, replacement });
  switch (node.type) {
    case 'Literal':
      return literal(node, parent).map((replacement) => as(replacement));
    case 'UnaryExpression':
      return node.operator === '!' ? [as(source.slice(node.start + 1, node.end))] : [];
    case 'AwaitExpression':
      return [as(source.slice(node.start + 'await '.length, node.end))];
    case 'BinaryExpression':
    case 'LogicalExpression':
      return operation(node, source);
    case 'IfStatement':
    case 'ConditionalExpression': {
      const test = child(node, 'test');
      return test ? [as('true', test), as('false', test)] : [];
    }
    case 'WhileStatement': {
      const test = child(node, 'test');
      return test && test.type !== 'Literal' ? [as('false', test)] : [];
    }
    case 'MemberExpression': {
      const property = child(node, 'property');
      const other = property && Object.hasOwn(METHODS, String(nameOf(property))) && METHODS[String(nameOf(property))];
      return property && other && parent?.type === 'CallExpression' ? [as(other, property)] : [];
    }
    case 'ObjectExpression':
      return parent && isArgument(node, parent) ? members(node).map((member) => without(member, source)) : [];
    case 'ExpressionStatement':
    case 'ThrowStatement':
      // The type check rejects a bare `;` as the body of an `if`.
      return typeof node.directive === 'string' ? [] : [as(isInBlock(parent) ? ';' : '{}')];
    default:
      return [];
  }
}

function literal(node: SyntaxNode, parent: SyntaxNode | undefined): string[] {
  // The name of a member is not a value.
  if (parent?.type === 'Property' && child(parent, 'key') === node) return [];
  // In a list of numbers, such as histogram buckets, no single one decides anything.
  if (parent?.type === 'ArrayExpression') return [];
  if (typeof node.value === 'boolean') return [String(!node.value)];
  if (typeof node.value !== 'number') return [];
  // Tests do not assert times, so for a duration or a large limit only extreme values make a difference.
  if (node.value >= 1000) return ['0', String(node.value * 1000)];
  return node.value === 1 ? ['0', '2'] : [String(node.value + 1)];
}

/** Works on the text around the operator, so that parentheses stay. */
function operation(node: SyntaxNode, source: string): Change[] {
  const [left, right] = [child(node, 'left'), child(node, 'right')];
  const operator = String(node.operator);
  if (!left || !right) return [];
  const start = source.indexOf(operator, left.end);
  const end = start + operator.length;
  if (operator === '??') {
    return [
      { start: left.end, end: node.end, replacement: source.slice(left.end, start).trimEnd() },
      { start: node.start, end: right.start, replacement: source.slice(end, right.start).trimStart() },
    ];
  }
  const other = swapped(operator, left, right);
  return other === undefined ? [] : [{ start, end, replacement: other }];
}

function swapped(operator: string, left: SyntaxNode, right: SyntaxNode): string | undefined {
  const isText = ({ type, value }: SyntaxNode) => type === 'TemplateLiteral' || typeof value === 'string';
  if (operator === '+' && (isText(left) || isText(right))) return undefined;
  return Object.hasOwn(SWAPPED, operator) ? SWAPPED[operator] : undefined;
}

function isInBlock(parent: SyntaxNode | undefined): boolean {
  return ['Program', 'BlockStatement', 'StaticBlock', 'SwitchCase'].includes(parent?.type ?? '');
}

function isArgument(node: SyntaxNode, parent: SyntaxNode): boolean {
  return (
    ['CallExpression', 'NewExpression'].includes(parent.type) &&
    Array.isArray(parent.arguments) &&
    parent.arguments.includes(node)
  );
}

function members(object: SyntaxNode): SyntaxNode[] {
  return Array.isArray(object.properties) ? object.properties.filter(isNode) : [];
}

/** Removes the member together with the comma after it. */
function without(member: SyntaxNode, source: string): Change {
  const comma = /^\s*,/.exec(source.slice(member.end))?.[0].length ?? 0;
  return { start: member.start, end: member.end + comma, replacement: '' };
}

function nameOf(node: SyntaxNode | undefined): unknown {
  return node?.type === 'Identifier' ? node.name : undefined;
}

function describe(change: Change, source: string): Pick<Mutation, 'line' | 'text'> {
  const from = source.lastIndexOf('\n', change.start - 1) + 1;
  const lineEnd = source.indexOf('\n', change.end);
  const to = lineEnd === -1 ? source.length : lineEnd;
  const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim().slice(0, 160);
  const after = source.slice(from, change.start) + change.replacement + source.slice(change.end, to);
  return {
    line: source.slice(0, change.start).split('\n').length,
    text: `${oneLine(source.slice(from, to))} → ${oneLine(after)}`,
  };
}
