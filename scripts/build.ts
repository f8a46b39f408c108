/**
 * npm run build [-- folder]
 *
 * Compiles `src` to JavaScript with declarations in `dist`, for the package: Node.js does not run TypeScript in
 * `node_modules`.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = join(import.meta.dirname, '..');
const out = resolve(process.argv[2] ?? join(root, 'dist'));
const migrations = join('api', 'store', 'migrations');

rmSync(out, { recursive: true, force: true });
execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', join(root, 'tsconfig.build.json'), '--outDir', out], {
  stdio: 'inherit',
});
cpSync(join(root, 'src', migrations), join(out, migrations), { recursive: true });
