/** Nested values as text of a given width: on one line where they fit, else with a member on each line. */

/** A text that stays whole, or what stands between brackets. */
export type Shape = string | { readonly brackets: '{}' | '[]'; readonly members: readonly Member[] };

interface Member {
  /** What stands before the value: `"name": `, or nothing in a list. */
  readonly label: string;
  readonly value: Shape;
}

export interface Space {
  /** Characters of a line. */
  readonly width: number;
  /** Where the first line starts. */
  readonly column?: number;
  /** Spaces before every further line. */
  readonly indent?: number;
}

/** A text that is longer than the width has a line of its own, and is not cut. */
export function layout(shape: Shape, { width, column = 0, indent = 0 }: Space): string {
  const line = oneLine(shape);
  if (typeof shape === 'string' || column + line.length <= width) return line;
  const inner = indent + 2;
  const members = shape.members.map(({ label, value }, index) => {
    const end = index < shape.members.length - 1 ? ',' : '';
    // The comma has its place on the line, too.
    const text = layout(value, { width: width - end.length, column: inner + label.length, indent: inner });
    return `${' '.repeat(inner)}${label}${text}${end}\n`;
  });
  return `${shape.brackets[0]}\n${members.join('')}${' '.repeat(indent)}${shape.brackets[1]}`;
}

function oneLine(shape: Shape): string {
  if (typeof shape === 'string') return shape;
  const members = shape.members.map(({ label, value }) => label + oneLine(value)).join(', ');
  return `${shape.brackets[0]}${members}${shape.brackets[1]}`;
}

/** JSON that can be reviewed: what belongs together is on one line, what changes by itself on a line of its own. */
export function json(value: unknown, width: number): string {
  return `${layout(shapeOf(value), { width })}\n`;
}

function shapeOf(value: unknown): Shape {
  if (Array.isArray(value)) {
    return { brackets: '[]', members: value.map((one) => ({ label: '', value: shapeOf(one) })) };
  }
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  return {
    brackets: '{}',
    members: members.map(([name, one]) => ({ label: `${JSON.stringify(name)}: `, value: shapeOf(one) })),
  };
}
