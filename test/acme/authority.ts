/** Pebble behind unbound, and everything that it validates names with. Only for test files. */
import { noPebble, type PebbleOptions, startPebble } from '../../dev/acme/pebble.ts';
import { noUnbound, startUnbound } from '../../dev/acme/unbound.ts';
import { startUserZone } from '../../dev/acme/user-zone.ts';
import { startWebServer } from '../../dev/acme/web-server.ts';
import { startDnsServer } from '../../src/dns/server.ts';
import { answerFrom } from '../../src/dns/zone.ts';

export const noAuthority = noPebble ?? noUnbound;

/** The domains of users are below `users.example`; challenges over DNS are answered below `acme.service.example`. */
export async function startAuthority(options: Omit<PebbleOptions, 'dnsPort' | 'httpPort'> = {}) {
  /** By token: what is served for challenges over HTTP. */
  const served = new Map<string, string>();
  /** By name: the TXT records of challenges. */
  const texts = new Map<string, string[]>();
  const zone = {
    apex: 'acme.service.example',
    nameServers: ['ns1.example.net'],
    texts: async (name: string) => texts.get(name),
  } as const;
  const dns = await startDnsServer({ answer: (question) => answerFrom(zone, question), host: '127.0.0.1', port: 0 });
  const users = await startUserZone('users.example');
  const unbound = await startUnbound([users, { apex: zone.apex, port: dns.port }]);
  const web = await startWebServer((incoming, outgoing) => {
    const body = served.get(incoming.url?.replace('/.well-known/acme-challenge/', '') ?? '');
    outgoing.writeHead(body === undefined ? 404 : 200).end(body);
  });
  const pebble = await startPebble({ ...options, dnsPort: unbound.port, httpPort: web.port });
  return {
    pebble,
    users,
    served,
    texts,
    async stop() {
      await pebble.stop();
      await unbound.stop();
      await Promise.all([users.stop(), dns.stop(), web.stop()]);
    },
  };
}
export type Authority = Awaited<ReturnType<typeof startAuthority>>;
