/** The machine's OpenSSH: it reads our certificates, and an sshd serves with them. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

const FOLDERS = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin', '/sbin'];

function find(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const programs = { 'ssh-keygen': find('ssh-keygen'), ssh: find('ssh'), sshd: find('sshd') };

/** Why tests with these programs cannot run here; undefined when they can. */
export function missing(...names: (keyof typeof programs)[]): string | undefined {
  const absent = names.filter((name) => programs[name] === undefined);
  return absent.length === 0 ? undefined : `OpenSSH is not complete on this machine (no ${absent.join(', ')})`;
}

export interface Output {
  code: number;
  out: string;
  err: string;
}

function run(file: string | undefined, args: string[], options: { uid?: number; gid?: number; cwd?: string } = {}) {
  if (file === undefined) throw new Error('look with missing() first');
  return new Promise<Output>((resolve) => {
    execFile(file, args, { ...options, timeout: 30_000 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err }),
    );
  });
}

/** What `ssh-keygen -L` says of a certificate: its lines without white space around. */
export async function describeCertificate(certificate: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'ssh-cert-'));
  try {
    await writeFile(join(folder, 'cert.pub'), `${certificate}\n`);
    const { code, out, err } = await run(programs['ssh-keygen'], ['-L', '-f', join(folder, 'cert.pub')]);
    if (code !== 0) throw new Error(`ssh-keygen -L: ${err}${out}`);
    return out.split('\n').map((line) => line.trim());
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Makes a key pair as people do; `args` as in `-t rsa -b 2048`. */
export async function keygen(...args: string[]): Promise<{ publicKey: string; privateKey: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'ssh-key-'));
  try {
    const file = join(folder, 'key');
    const { code, err } = await run(programs['ssh-keygen'], ['-q', '-N', '', '-C', 'root@host', '-f', file, ...args]);
    if (code !== 0) throw new Error(`ssh-keygen: ${err}`);
    return { publicKey: await readFile(`${file}.pub`, 'utf8'), privateKey: await readFile(file, 'utf8') };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** As root, sshd wants a user and a folder of its own that a machine may not have; as nobody it does not. */
const identity = userInfo().uid === 0 ? { uid: 65_534, gid: 65_534 } : undefined;

export interface Connection {
  /** As a client types it. */
  host: string;
  hostKey: string;
  certificate: string;
  /** Lines of known_hosts. */
  knownHosts: string[];
}

/**
 * Connects with ssh over loopback to an sshd that has this key and certificate, up to the point at which the user would
 * log in. There is an sshd for the one connection, and none when this returns.
 */
export async function connect({ host, hostKey, certificate, knownHosts }: Connection) {
  const folder = await mkdtemp(join(tmpdir(), 'sshd-'));
  const file = (name: string) => join(folder, name);
  const config = [`HostKey ${file('key')}`, `HostCertificate ${file('key-cert.pub')}`, 'PidFile none', 'UsePAM no'];
  const files = {
    key: hostKey,
    'key-cert.pub': `${certificate}\n`,
    sshd_config: `${config.join('\n')}\n`,
    known_hosts: `${knownHosts.join('\n')}\n`,
  };
  for (const [name, content] of Object.entries(files)) await writeFile(file(name), content, { mode: 0o600 });
  if (identity) {
    for (const path of [folder, ...Object.keys(files).map(file)]) await chown(path, identity.uid, identity.gid);
  }
  const server = await serve(file('sshd_config'));
  try {
    const options = [
      'Hostname=127.0.0.1',
      `Port=${server.port}`,
      // Under which name the client knows the host, and so which principal it looks for.
      `HostKeyAlias=${host}`,
      `UserKnownHostsFile=${file('known_hosts')}`,
      'GlobalKnownHostsFile=none',
      'StrictHostKeyChecking=yes',
      'PreferredAuthentications=none',
      'BatchMode=yes',
    ];
    // As someone who cannot log in anywhere; the host is judged before the user is.
    const args = ['-v', '-F', 'none', '-l', 'nobody', ...options.flatMap((option) => ['-o', option]), 'host', 'true'];
    const { err } = await run(programs.ssh, args, { ...identity, cwd: '/' });
    return {
      /** Whether the host was accepted by its certificate; what follows is that the user is not. */
      accepted: /matches the \S+-CERT host certificate/.test(err) && /Permission denied/.test(err),
      err,
    };
  } finally {
    await server.stop();
    await rm(folder, { recursive: true });
  }
}

/** An sshd for each connection to a free port. It is our child, as inetd's it would be; a daemon would need more. */
async function serve(config: string) {
  const ended: Promise<unknown>[] = [];
  const server = createServer((socket) => {
    const sshd = spawn(programs.sshd ?? '', ['-i', '-f', config], {
      ...identity,
      cwd: '/',
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    ended.push(once(sshd, 'close'));
    for (const stream of [socket, sshd.stdin, sshd.stdout]) stream.on('error', () => sshd.kill());
    socket.pipe(sshd.stdin);
    sshd.stdout.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return {
    port: address.port,
    async stop() {
      server.close();
      await Promise.all(ended);
    },
  };
}
