/** unbound, a recursive resolver, in front of the server: as strict as that of a certificate authority. */
import { Resolver } from 'node:dns/promises';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild, waitForChild } from '../../dev/processes/child-process.ts';
import { isOnPath } from '../../dev/processes/shell.ts';
import { freePort } from '../../src/postgres/ports.ts';

export const noUnbound = isOnPath('unbound') ? undefined : 'there is no unbound on this machine';

/** It asks our server for what is below `apex`, with letters in random case and name by name from the top. */
export async function startUnbound(apex: string, port: number) {
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-unbound-'));
  const own = await freePort();
  const config = `
server:
  interface: 127.0.0.1
  port: ${own}
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: ""
  use-syslog: no
  do-daemonize: no
  do-not-query-localhost: no
  module-config: "iterator"
  use-caps-for-id: yes
  qname-minimisation: yes
  qname-minimisation-strict: yes
  do-ip6: no
stub-zone:
  name: "${apex}"
  stub-addr: 127.0.0.1@${port}
`;
  const file = join(folder, 'unbound.conf');
  await writeFile(file, config);
  const child = startChild({
    ...{ name: 'unbound', command: 'unbound', args: ['-d', '-c', file] },
    ...{ logFile: join(folder, 'log'), removeOnLoss: folder },
  });
  const resolver = new Resolver({ tries: 1, timeout: 2_000 });
  resolver.setServers([`127.0.0.1:${own}`]);
  // It refuses no question, so any answer means that it is there.
  await waitForChild(child, 'answer', async () => (await resolver.resolveSoa(apex)) !== undefined);
  const stop = async () => {
    await child.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { resolver, stop };
}
