/** The table of docs/licences.md: the licence of everything that is shipped. */
import { z } from 'zod';

const lockfile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      license: z.string().optional(),
      dev: z.boolean().optional(),
      devOptional: z.boolean().optional(),
    }),
  ),
});

/** SPDX identifiers of licences that only require attribution. */
const PERMITTED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'PSF-2.0',
  'Unlicense',
]);

/** @throws Error that names a package whose licence is missing or not permitted */
export function licencesTable(lock: unknown): string {
  const byLicence = new Map<string, Set<string>>();
  for (const [path, { version, license, dev, devOptional }] of Object.entries(lockfile.parse(lock).packages)) {
    if (path === '' || dev || devOptional) continue;
    const name = path.replace(/^.*node_modules\//, '');
    if (license === undefined || !PERMITTED.has(license))
      throw new Error(
        `${name}@${version}: the licence ${license ?? 'is missing'} is not permitted (${import.meta.filename})`,
      );
    byLicence.set(license, (byLicence.get(license) ?? new Set()).add(name));
  }
  const rows = [...byLicence].sort(([, a], [, b]) => b.size - a.size);
  const cells = rows.map(([licence, names]) => `| ${licence} | ${names.size} | ${[...names].sort().join(', ')} |`);
  return ['| Licence | Packages | Which |', '|---|---|---|', ...cells].join('\n');
}
