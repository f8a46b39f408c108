/**
 * npm run build [-- folder]
 *
 * Compiles `src` to JavaScript with declarations in `dist`, for the package: Node.js does not run TypeScript in
 * `node_modules`. `dist` is emptied first; another folder must be empty or not exist.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');
const out = resolve(process.argv[2] ?? dist);
const migrations = join('api', 'store', 'migrations');

if (out === dist) rmSync(dist, { recursive: true, force: true });
else if (existsSync(out) && readdirSync(out).length > 0) {
  process.stderr.write(`${out} is not empty; name a folder that is, or none for ${dist}\n`);
  process.exit(2);
}
execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', join(root, 'tsconfig.build.json'), '--outDir', out], {
  stdio: 'inherit',
});
cpSync(join(root, 'src', migrations), join(out, migrations), { recursive: true });
