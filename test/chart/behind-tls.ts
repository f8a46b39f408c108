/** A server behind TLS with a certificate of a CA that nobody trusts unless told to. Only for test files. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { createAuthority } from '../../dev/control-plane/certificates.ts';

export interface BehindTls extends AsyncDisposable {
  readonly url: string;
  /** The CA's certificate, PEM. */
  readonly caFile: string;
}

/** @param url of a server on plain HTTP; @param folder for the CA's certificate */
export async function behindTls(url: string, folder: string): Promise<BehindTls> {
  const authority = await createAuthority('private');
  const { certificate, key } = await authority.issueServer('api', [], ['127.0.0.1']);
  const { hostname, port } = new URL(url);
  const server = createServer({ cert: certificate, key }, (socket) => {
    const upstream = connect(Number(port), hostname);
    socket.pipe(upstream).pipe(socket);
    for (const one of [socket, upstream]) one.on('error', () => [socket, upstream].map((each) => each.destroy()));
  });
  // A client that does not trust the CA.
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port: own } = server.address() as AddressInfo;
  const caFile = join(folder, 'private-ca.crt');
  await writeFile(caFile, authority.certificate);
  return {
    url: `https://127.0.0.1:${own}`,
    caFile,
    [Symbol.asyncDispose]: async () => void (await once(server.close(), 'close')),
  };
}
