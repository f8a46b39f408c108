/**
 * Has ssh clients connect to a real sshd that shows a host certificate. `OPENSSH_CLIENTS` names further clients, separated
 * by colons, such as the newest one beside that of this machine.
 */
import { execFile } from 'node:child_process';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { find } from './openssh.ts';

const sshd = process.env.OPENSSH_SERVER ?? find('sshd');
const programs = [find('ssh') ?? [], process.env.OPENSSH_CLIENTS?.split(':') ?? []].flat().filter(Boolean);

/** Why these tests cannot run here; undefined when they can. */
export const noServer =
  sshd === undefined || programs.length === 0 ? 'there is no sshd or no ssh on this machine' : undefined;

/** As root, sshd would need a system account and a folder of its own. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

function run(program: string, args: string[]) {
  return new Promise<string>((resolve) => {
    execFile(program, args, { timeout: 30_000, ...nobody }, (_error, out, err) => resolve(out + err));
  });
}

interface SshClient {
  program: string;
  /** As in `OpenSSH_10.3`. */
  version: string;
  /** Whether it is 10.3 or later. */
  isNew: boolean;
}

export const clients: SshClient[] = noServer
  ? []
  : await Promise.all(
      programs.map(async (program) => {
        const [version = '', major, minor] = /OpenSSH_(\d+)\.(\d+)/.exec(await run(program, ['-V'])) ?? [];
        return { program, version, isNew: Number(major) * 100 + Number(minor) >= 1003 };
      }),
    );

/** A host: its private key, and the certificates that sshd may show. */
export async function startHost(privateKey: string, authority: string, certificates: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'ssh-host-'));
  const file = async (name: string, content: string) => {
    await writeFile(join(folder, name), content, { mode: 0o600 });
    if (nobody.uid !== undefined) await chown(join(folder, name), nobody.uid, nobody.gid);
    return join(folder, name);
  };
  await chmod(folder, 0o755);
  const key = await file('key', privateKey);
  const knownHosts = await file('known_hosts', `@cert-authority * ${authority}\n`);
  const config = await file('sshd_config', `HostKey ${key}\nPidFile none\nUsePAM no\nStrictModes no\n`);
  for (const [name, certificate] of Object.entries(certificates)) await file(`${name}-cert.pub`, `${certificate}\n`);

  /** Whether the client takes the host for the one of this name. It gets no further than that, since it has no login. */
  async function accepts({ program }: SshClient, name: string, certificate: string): Promise<boolean> {
    const server = `${sshd} -i -f ${config} -o HostCertificate=${join(folder, `${certificate}-cert.pub`)}`;
    const options = {
      ProxyCommand: server,
      HostKeyAlias: name,
      UserKnownHostsFile: knownHosts,
      GlobalKnownHostsFile: 'none',
      StrictHostKeyChecking: 'yes',
      BatchMode: 'yes',
    };
    const args = Object.entries(options).flatMap(([option, value]) => ['-o', `${option}=${value}`]);
    const said = await run(program, ['-F', 'none', ...args, 'nobody@host', 'true']);
    const accepted = said.includes('Permission denied');
    if (!accepted && !/verification failed|Couldn't drop certificate/.test(said)) throw new Error(said);
    return accepted;
  }
  return { accepts, stop: () => rm(folder, { recursive: true }) };
}
