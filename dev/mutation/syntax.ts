/** The syntax tree of a source file (ESTree with TypeScript), from the parser that comes with Vitest. */
import { parseAst } from 'vitest/node';

export interface SyntaxNode {
  readonly type: string;
  /** Offsets into the source, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** @throws Error if the file is not valid TypeScript. */
export function parse(source: string): SyntaxNode {
  const program: unknown = parseAst(source, { lang: 'ts' });
  if (!isNode(program)) throw new Error('the parser returned no program');
  return program;
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value;
}

export function child(node: SyntaxNode, member: string): SyntaxNode | undefined {
  const value = node[member];
  return isNode(value) ? value : undefined;
}

/** In the order of the source; a member that holds a list gives its elements. */
export function children(node: SyntaxNode): SyntaxNode[] {
  return Object.values(node).flatMap((value) =>
    Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [],
  );
}

/** Calls `visit` for the node and all below it, parents first; where it returns false, the subtree is skipped. */
export function walk(node: SyntaxNode, visit: (node: SyntaxNode, parents: readonly SyntaxNode[]) => boolean): void {
  const parents: SyntaxNode[] = [];
  const enter = (at: SyntaxNode) => {
    if (!visit(at, parents)) return;
    parents.push(at);
    for (const below of children(at)) enter(below);
    parents.pop();
  };
  enter(node);
}
