/**
 * Runs the commands of README.md and docs/troubleshooting.md as they stand there, in a copy of this checkout that shares
 * its dependencies. Commands for development are only looked up in package.json.
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { type Child, startChild, waitForChild } from '../dev/processes/child-process.ts';
import { allKinds } from '../src/operator/kinds/kinds.ts';
import { freePort } from '../src/postgres/ports.ts';
import { eventually, startStack } from './e2e/stack.ts';
import { cluster, createTestDatabase } from './harness.ts';

const ROOT = join(import.meta.dirname, '..');
const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
const blocks = blocksOf(readme);
/** The commands of the console blocks with what they print, and the lines of the shell blocks without their comments. */
const sessions = blocks
  .filter(({ language }) => language === 'console')
  .flatMap(({ text }) => text.split(/^\$ /m).slice(1))
  .map((session) => {
    const [command = '', ...output] = session.split('\n');
    return { command, output: output.join('\n').trim() };
  });
const shell = shellOf(blocks);
const isDevelopment = (command: string) => /^npm (test|run [\w:]+)$/.test(command);

interface Block {
  language: string;
  text: string;
}

function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^```(\w+)\n(.*?)^```/gms)].map(([, language = '', text = '']) => ({ language, text }));
}

/** Without comments. */
function shellOf(blocksOfPage: readonly Block[]): string[] {
  return blocksOfPage
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.trim().split('\n'))
    .map((line) => line.replace(/\s+#.*/, ''));
}

const stack = await startStack({ prefix: 'readme' });
const { kubectlPath, kubeconfigPath } = await cluster();
const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-readme-'));
const children: Child[] = [];
afterAll(async () => {
  await Promise.all(children.map((child) => child.stop({ graceMs: 60_000 })));
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

const checkout = join(folder, 'tunnel-operator');
const LEFT_OUT = ['node_modules', '.git', '.data', 'dist'].map((name) => join(ROOT, name));
await cp(ROOT, checkout, { recursive: true, filter: (path) => !LEFT_OUT.includes(path) });
await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
await symlink(kubectlPath, join(folder, 'kubectl'));

/** The shared cluster, in the namespace of this test. */
const config = parse(await readFile(kubeconfigPath, 'utf8'));
for (const { context } of config.contexts) context.namespace = stack.namespace;
await writeFile(join(folder, 'kubeconfig'), stringify(config), { mode: 0o600 });

/** Without the variables that Vitest sets and the programs would take as their own, such as BASE_URL. */
const env = {
  HOME: process.env.HOME,
  PATH: [folder, process.env.PATH].join(delimiter),
  KUBECONFIG: join(folder, 'kubeconfig'),
};

async function run(command: string, more: NodeJS.ProcessEnv = {}): Promise<string> {
  const options = { cwd: checkout, env: { ...env, ...more } };
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', `${command} 2>&1`], options).catch(
    (error: unknown) => z.object({ stdout: z.string(), stderr: z.string() }).parse(error),
  );
  return stdout + stderr;
}

/** Starts a command that keeps running, and waits until it has printed `until`. */
async function start(command: string, name: string, until: RegExp, more: NodeJS.ProcessEnv = {}): Promise<Child> {
  const logFile = join(folder, `${name}.log`);
  const options = { cwd: checkout, env: { ...env, LOG_FORMAT: 'json', ...more } };
  const child = startChild({ name, command: 'bash', args: ['-c', `exec ${command}`], logFile, ...options });
  children.push(child);
  await waitForChild(child, String(until), async () => until.test(await readFile(logFile, 'utf8')), {
    timeoutMs: 120_000,
  });
  return child;
}

/** Expects every part between the gaps of the sample to be printed, in any layout. */
function expectSample(printed: string, sample: string): void {
  const flat = (text: string) => text.replaceAll(/\s+/g, ' ').trim();
  const parts = sample.split(/…|\n/).map(flat);
  for (const part of parts) expect(flat(printed)).toContain(part);
}

/** What the demo says about tokens, without ids. */
const proofs = (text: string) => [...text.matchAll(/^Secret .* authenticates|^It may .*/gm)].map(([line]) => line);

for (const { text } of blocks.filter(({ language }) => language === 'yaml')) {
  const [, file = 'manifests.yaml'] = /^# (\S+)\n/.exec(text) ?? [];
  await writeFile(join(checkout, file), text);
}

test('the manifests of README.md are accepted', async () => {
  const printed = await run('kubectl apply --dry-run=server -f manifests.yaml');
  expect(printed.match(/ created \(server dry run\)$/gm)).toHaveLength(2);
});

test('every console session of README.md prints what the page shows', { timeout: 120_000 }, async () => {
  const [demo, ...others] = sessions;
  // The second command in the block of the demo is printed by the demo itself.
  expect(demo?.command).toBe('npm run demo');
  for (const { command, output } of others.filter((each) => !each.command.endsWith('get tunnels -A'))) {
    await eventually(async () => {
      const printed = await run(command);
      if (command.endsWith('-o wide')) {
        // The age differs, and with it the column width.
        const [header = [], row = []] = output.split('\n').map((line) => line.trim().split(/\s+/));
        const cells = printed.trim().split(/\s+/);
        expect(cells.slice(0, header.length)).toEqual(header);
        expect(cells).toEqual(expect.arrayContaining(row.slice(0, -1)));
      } else if (command.includes('apply') && printed.includes('unchanged')) {
        expect(output).toContain('created');
      } else expectSample(printed, output);
    });
  }
});

test('the commands of docs/troubleshooting.md work on the objects of README.md', async () => {
  await run('kubectl apply -f manifests.yaml');
  const commands = shellOf(blocksOf(await readFile(join(ROOT, 'docs/troubleshooting.md'), 'utf8')));
  expect(commands.length).toBeGreaterThan(2);
  for (const command of commands) expect(await run(`${command} && echo worked`)).toMatch(/^worked$/m);
});

test('the demo shows every kind, and the commands that it prints for another terminal work', {
  timeout: 180_000,
}, async () => {
  const { PATH } = process.env;
  const demo = await start('npm run demo', 'demo', /It keeps running/, { PATH });
  const printed = await readFile(demo.logFile, 'utf8');
  const missing = allKinds.filter(({ singular }) => !new RegExp(` ${singular}\\.\\S+ +True `).test(printed));
  expect(missing.map(({ kind }) => kind)).toEqual([]);
  const shown = sessions.find(({ command }) => command.endsWith('get tunnels -A'));
  expect(shown?.output).toContain(`the ${allKinds.length - 2} other kinds`);
  expect(proofs(printed)).toEqual(proofs(readme));
  const [, commands = ''] = /In another terminal:\n((?: {2}.*\n)+)/.exec(printed) ?? [];
  expect(await run(`{ ${commands}}`, { PATH })).toMatch(/tunnelcredential\S+\/shop-agent +True/);
  await demo.stop({ graceMs: 60_000 });
});

test('the commands for running it for real work', { timeout: 180_000 }, async ({ onTestFinished }) => {
  expect(shell.filter((command) => !isDevelopment(command))).toEqual([
    'npm start -- migrate',
    'npm start -- api',
    'kubectl apply -k crds/',
    'npm start -- operator',
  ]);
  const [migrate = '', api = '', crds = '', operator = ''] = shell;
  const DATABASE_URL = await createTestDatabase();
  expect(await run(migrate, { DATABASE_URL })).toContain('applied 0001');
  const port = String(await freePort());
  await start(api, 'api', /tnl_ak_/, { DATABASE_URL, PORT: port, HOST: '127.0.0.1' });
  const [key] = /tnl_ak_\w+/.exec(await readFile(join(folder, 'api.log'), 'utf8')) ?? [];
  expect(await run(crds)).toMatch(/serverside-applied|unchanged|configured|created/);
  // The Lease in the namespace of the stack remembers whose API key its operator uses.
  const leases = `${stack.namespace}-own`;
  await run(`kubectl create namespace ${leases}`);
  onTestFinished(async () => void (await run(`kubectl delete namespace ${leases} --wait=false`)));
  await start(operator, 'operator', /"reconciling"/, {
    TUNNEL_API_URL: `http://127.0.0.1:${port}`,
    TUNNEL_API_KEY: key,
    // The cluster is shared with other tests.
    WATCH_NAMESPACE: stack.namespace,
    POD_NAMESPACE: leases,
    METRICS_PORT: '0',
  });
});

test.each(shell.filter(isDevelopment))('%s is a script of package.json', async (command) => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')));
  expect(Object.keys(scripts)).toContain(command.replace(/^npm (run )?/, ''));
});
