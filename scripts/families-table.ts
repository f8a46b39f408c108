/** The table of all families in docs/api.md. */
import { words } from '../src/api/errors/naming.ts';
import type { Access, Resource } from '../src/resources/definition/resource.ts';

const WHO: Readonly<Record<Access, string>> = {
  anyone: 'everyone',
  owner: 'everyone their own, admins all',
  admin: 'admins',
  platform: 'platform admins',
};

export function familiesTable(families: readonly Resource[]): string {
  const rows = families.map(({ table, prefix, path, access, extension, description }) => {
    const name = capital(words(table));
    return [extension ? `${name} (extension)` : name, `\`${prefix}_\``, `\`${path}\``, WHO[access], description];
  });
  const head = ['Family', 'Ids', 'Path', 'For', 'What it is'];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
