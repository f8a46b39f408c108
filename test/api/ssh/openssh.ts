/** Runs the ssh-keygen of this machine, to make keys and to read our certificates. */
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FOLDERS = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin', '/sbin'];

export function find(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const program = find('ssh-keygen');

/** Why tests with ssh-keygen cannot run here; undefined when they can. */
export const missing = program === undefined ? 'there is no ssh-keygen on this machine' : undefined;

function run(args: string[]) {
  return new Promise<{ code: number; out: string; err: string }>((resolve) => {
    execFile(program ?? '', args, { timeout: 30_000 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err }),
    );
  });
}

/** The lines that `ssh-keygen -L` prints for a certificate, trimmed. */
export async function describeCertificate(certificate: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'ssh-cert-'));
  try {
    await writeFile(join(folder, 'cert.pub'), `${certificate}\n`);
    const { code, out, err } = await run(['-L', '-f', join(folder, 'cert.pub')]);
    if (code !== 0) throw new Error(`ssh-keygen -L: ${err}${out}`);
    return out.split('\n').map((line) => line.trim());
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Makes a key pair with ssh-keygen; `args` as in `-t rsa -b 2048`. */
export async function keygen(...args: string[]): Promise<{ publicKey: string; privateKey: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'ssh-key-'));
  try {
    const file = join(folder, 'key');
    const { code, err } = await run(['-q', '-N', '', '-C', 'root@host', '-f', file, ...args]);
    if (code !== 0) throw new Error(`ssh-keygen: ${err}`);
    return { publicKey: await readFile(`${file}.pub`, 'utf8'), privateKey: await readFile(file, 'utf8') };
  } finally {
    await rm(folder, { recursive: true });
  }
}
