/** The diagram and the table in docs/architecture.md, generated from the arrows that the architecture test enforces. */

type Arrows = Readonly<Record<string, readonly string[]>>;

/** @param purpose what each room is for */
export function roomsSection(rooms: Arrows, purpose: Readonly<Record<string, string>>): string {
  const rows = Object.keys(rooms)
    .toReversed()
    .map((room) => {
      const text = purpose[room];
      if (text === undefined) throw new Error(`dev/architecture.ts does not say what src/${room} is for`);
      return `| \`src/${room}\` | ${text} |\n`;
    });
  return `${picture(rooms)}\n| Room | What it is for |\n|---|---|\n${rows.join('')}`;
}

function picture(rooms: Arrows): string {
  const names = Object.keys(rooms).toReversed();
  const programs = Map.groupBy(names, (room) => frameOf(room));
  const nodes = [...programs].map(([frame, members]) => {
    const lines = members.map((room) => `${idOf(room)}["${room}"]\n`);
    if (frame === undefined) return lines.map((line) => `  ${line}`).join('');
    return `  subgraph ${frame}_rooms["${frame}"]\n${lines.map((line) => `    ${line}`).join('')}  end\n`;
  });
  const arrows = names.flatMap((room) => drawn(rooms, room).map((other) => `  ${idOf(room)} --> ${idOf(other)}\n`));
  return `\`\`\`mermaid\nflowchart TD\n${nodes.join('')}${arrows.join('')}\`\`\`\n`;
}

/** The three folders that contain rooms are drawn as frames. */
const frameOf = (room: string) => /^(api|operator|resources)\b/.exec(room)?.[1];

const idOf = (room: string) => room.replaceAll(/\W/g, '_');

/** The arrows that do not follow from others. */
function drawn(rooms: Arrows, room: string): string[] {
  const next = rooms[room] ?? [];
  return next.filter((other) => !next.some((between) => between !== other && reaches(rooms, between, other)));
}

const reaches = (rooms: Arrows, from: string, to: string): boolean =>
  (rooms[from] ?? []).some((next) => next === to || reaches(rooms, next, to));
