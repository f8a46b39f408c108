/** Clients that generators make from the OpenAPI document: generated, compiled, and ready to run. */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openApiDocument } from '../../src/api/openapi/document.ts';
import type { Call } from './life.ts';
import { fetchProgram } from './programs.ts';
import { ensureNodeTools, ensurePythonTools, run } from './tools.ts';

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

/** @param folder an empty folder; @throws ToolsUnavailable, or an Error with the output of generator or compiler */
type Generate = (folder: string, calls: readonly Call[]) => Promise<Program>;

const COMPILE = {
  strict: true,
  exactOptionalPropertyTypes: false,
  target: 'es2022',
  module: 'nodenext',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: [],
  skipLibCheck: true,
  outDir: 'out',
};

/** The error of a failed command, with its output. */
async function said(command: string, args: readonly string[], cwd: string): Promise<void> {
  await run(command, args, { cwd, maxBuffer: 2 ** 26 }).catch(({ message, stdout, stderr }) => {
    throw new Error(`${message}\n${stdout}\n${stderr}`.slice(0, 8_000));
  });
}

async function typescript(folder: string, files: Readonly<Record<string, string>>, generate: Program | undefined) {
  const tools = await ensureNodeTools();
  await symlink(join(tools, 'node_modules'), join(folder, 'node_modules'));
  const globals = 'declare const process: { env: Record<string, string | undefined> };\n';
  const all = {
    ...files,
    'globals.d.ts': globals,
    'openapi.json': JSON.stringify(openApiDocument()),
    'package.json': JSON.stringify({ type: 'module' }),
    'tsconfig.json': JSON.stringify({ compilerOptions: COMPILE, include: ['*.ts'] }),
  };
  for (const [name, text] of Object.entries(all)) await writeFile(join(folder, name), text);
  if (generate) await said(generate.command, generate.args, folder);
  await said(process.execPath, [join(tools, 'node_modules/typescript/bin/tsc'), '-p', folder], folder);
  return { command: process.execPath, args: ['out/program.js'], cwd: folder };
}

const binary = (folder: string, name: string) => join(folder, 'node_modules/.bin', name);

export const GENERATORS: Readonly<Record<string, Generate>> = {
  async 'openapi-typescript'(folder, calls) {
    const args = ['openapi.json', '-o', 'schema.d.ts'];
    const generate = { command: binary(folder, 'openapi-typescript'), args, cwd: folder };
    return typescript(folder, { 'program.ts': fetchProgram(calls) }, generate);
  },
  async 'openapi-python-client'(folder, calls) {
    const tools = await ensurePythonTools();
    const python = join(tools, 'bin/python');
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(openApiDocument()));
    await writeFile(join(folder, 'plan.json'), JSON.stringify(calls));
    const args = [
      'generate',
      '--path',
      'openapi.json',
      '--output-path',
      'client',
      '--meta',
      'none',
      '--fail-on-warning',
    ];
    await writeFile(join(folder, 'config.yml'), 'post_hooks: []\n');
    await said(join(tools, 'bin/openapi-python-client'), [...args, '--config', 'config.yml'], folder);
    // The code of its own template fails this check: https://github.com/openapi-generators/openapi-python-client
    const ours = ['-m', 'mypy', '-p', 'client.models', '-p', 'client.api', '--follow-imports=silent'];
    await said(python, ours, folder);
    await mkdir(join(folder, '.cache'));
    return { command: python, args: [join(import.meta.dirname, 'life.py')], cwd: folder };
  },
};
