/** The table of all kinds in docs/operator.md. */
import { exampleFile } from '../dev/fixtures/example-file.ts';
import { kindPageFile } from '../dev/screens/kind-page.ts';
import type { AttachedKind } from '../src/operator/kinds/attached-kind.ts';
import type { AnyPlainKind } from '../src/operator/kinds/plain-kind.ts';

/** For kinds that must belong to a bot: only admins may name another owner. */
const ofOwner = 'an admin key, or one of the bot that it belongs to';

const KEYS: Readonly<Record<string, string>> = {
  admin: 'an admin key',
  platform: 'that of a [platform admin](accounts.md#the-first-account)',
};

export function kindsTable(plain: readonly AnyPlainKind[], attached: readonly AttachedKind[]): string {
  const kinds = [
    ...plain.map((kind) => ({ ...kind, access: kind.family.access })),
    ...attached.map((kind) => ({ ...kind, access: kind.ownerFamily.access, handsOutUserRights: undefined })),
  ];
  const rows = kinds.map(({ kind, shortNames, description, access, handsOutUserRights }) => {
    const names = shortNames.map((name) => `\`${name}\``).join(', ');
    const key = KEYS[access] ?? (handsOutUserRights ? ofOwner : 'any');
    const screens = kindPageFile(kind).replace('docs/', '');
    return `| \`${kind}\` | ${names} | ${description} | ${key} | [example](../${exampleFile(kind)}), [screens](${screens}) |`;
  });
  return [
    '| Kind | Short name | Description | API key that the operator needs | |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}
