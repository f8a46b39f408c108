/** A management API behind a relay that can say something else: what an export makes of it. Only for test files. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { keyring } from '../../../src/api/secrets/keyring.ts';
import { startApi } from '../../../src/api/server.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { createClient } from '../../../src/client/client.ts';
import { atEnd } from '../../end-of-file.ts';
import { createTestDatabase } from '../../harness.ts';

export const API_KEY = 'tnl_ak_relayed_api_of_the_tests_0123456789ab';

export interface Relay {
  url: string;
  /** Of the last request. */
  headers: IncomingHttpHeaders;
  /** By the clock of the API, if that is not the one of this machine. */
  date?: Date | undefined;
  /** A path that is answered as if it did not exist. */
  missing?: string | undefined;
}

export async function relayedApi() {
  const databaseUrl = await createTestDatabase({
    name: 'template_api',
    prepare: async (url) => void (await migrate(url)),
  });
  const encryptionKey = keyring.parse(`tests:${Buffer.alloc(32, 1).toString('base64')}`);
  const api = await startApi({ databaseUrl, port: 0, bootstrapApiKey: API_KEY, encryptionKey });
  const client = createClient({ baseUrl: api.url, apiKey: API_KEY });
  const relay: Relay = { url: '', headers: {} };
  const server = createServer(async (request, response) => {
    relay.headers = request.headers;
    const { authorization = '' } = request.headers;
    const path = request.url === relay.missing ? '/missing' : request.url;
    const answer = await fetch(`${api.url}${path}`, { headers: { authorization, connection: 'close' } });
    if (relay.date) response.setHeader('date', relay.date.toUTCString());
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(await answer.text());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  relay.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  atEnd(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    await client.close();
    await api.stop();
  });
  return { client, relay };
}
