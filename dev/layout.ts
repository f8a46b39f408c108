/** Nested values as text of a given width: on one line if they fit, else one member per line. */

/** A text that stays whole, or members in brackets. */
export type Shape = string | { readonly brackets: '{}' | '[]'; readonly members: readonly Member[] };

interface Member {
  /** The text before the value: `"name": `, or nothing in a list. */
  readonly label: string;
  readonly value: Shape;
}

interface Space {
  /** Characters per line. */
  readonly width: number;
  /** The column of the first line. */
  readonly column?: number;
  /** Spaces before every further line. */
  readonly indent?: number;
}

/** A text longer than the width gets its own line and is not broken. */
export function layout(shape: Shape, { width, column = 0, indent = 0 }: Space): string {
  const line = oneLine(shape);
  if (typeof shape === 'string' || column + line.length <= width) return line;
  const inner = indent + 2;
  const members = shape.members.map(({ label, value }, index) => {
    const end = index < shape.members.length - 1 ? ',' : '';
    // The comma also takes space on the line.
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

/** JSON that is easy to review: what belongs together is on one line, what changes separately on separate lines. */
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
