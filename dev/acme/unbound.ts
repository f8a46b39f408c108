/** unbound, a recursive resolver, in front of the server: as strict as that of a certificate authority. */
import { Resolver } from 'node:dns/promises';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/postgres/ports.ts';
import { startChild, waitForChild } from '../processes/child-process.ts';
import { isOnPath } from '../processes/shell.ts';

export const noUnbound = isOnPath('unbound') ? undefined : 'there is no unbound on this machine';

interface Zone {
  apex: string;
  /** Of its name server, on 127.0.0.1. */
  port: number;
}

/** It asks for what is below each apex with letters in random case, and name by name from the top. */
export async function startUnbound(zones: readonly [Zone, ...Zone[]]) {
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
  incoming-num-tcp: 1000
${zones.map(({ apex, port }) => `stub-zone:\n  name: "${apex}"\n  stub-addr: 127.0.0.1@${port}\n`).join('')}`;
  const file = join(folder, 'unbound.conf');
  await writeFile(file, config);
  const child = startChild({
    ...{ name: 'unbound', command: 'unbound', args: ['-d', '-c', file] },
    ...{ logFile: join(folder, 'log'), removeOnLoss: folder },
  });
  const resolver = new Resolver({ tries: 1, timeout: 2_000 });
  resolver.setServers([`127.0.0.1:${own}`]);
  // It refuses no question, so any answer means that it is there.
  await waitForChild(child, 'answer', async () => (await resolver.resolveSoa(zones[0].apex)) !== undefined);
  const stop = async () => {
    await child.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { resolver, port: own, stop };
}
