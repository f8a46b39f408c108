/** A proxy in front of Pebble that counts requests, and can hold one up before or after Pebble gets it. Only for test files. */
import { once } from 'node:events';
import { createServer } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { Agent, request } from 'undici';
import type { Pebble } from '../../../dev/acme/pebble.ts';
import { makeCertificate } from '../../../dev/fixtures/x509.ts';
import { atEnd } from '../../end-of-file.ts';

export type Moment = 'before' | 'after';

/** Parts of Pebble's paths. */
export const PLACES = {
  account: '/sign-me-up',
  order: '/order-plz',
  authorization: '/authZ/',
  challenge: '/chalZ/',
  look: '/my-order/',
  finalize: '/finalize-order/',
  certificate: '/certZ/',
} as const;
export type Place = keyof typeof PLACES;

export interface AcmeProxy {
  readonly directoryUrl: string;
  readonly serverCertificate: string;
  /** Requests that Pebble accepted, by place. */
  readonly accepted: Place[];
  /** Is called once, with a request at this place held up; its connection is cut afterwards. */
  arm(place: Place, moment: Moment, act: () => Promise<void>): void;
}

export async function startAcmeProxy(pebble: Pebble): Promise<AcmeProxy> {
  const { pem, keyPem } = await makeCertificate({
    ...{ subject: 'CN=localhost', names: [{ type: 'dns', value: 'localhost' }] },
  });
  const dispatcher = new Agent({ connect: { ca: pebble.serverCertificate } });
  const accepted: Place[] = [];
  let armed: { place: Place; moment: Moment; act: () => Promise<void> } | undefined;

  const server = createServer({ cert: pem, key: keyPem }, async (incoming, outgoing) => {
    const path = incoming.url ?? '';
    const [place] = (Object.keys(PLACES) as Place[]).filter((each) => path.startsWith(PLACES[each]));
    const hit = async (moment: Moment) => {
      if (armed === undefined || armed.place !== place || armed.moment !== moment) return false;
      const { act } = armed;
      armed = undefined;
      await act();
      outgoing.destroy();
      return true;
    };
    const body = await buffer(incoming);
    if (await hit('before')) return;
    const { method = 'GET', headers } = incoming;
    const { connection: _, 'content-length': __, 'transfer-encoding': ___, ...passed } = headers;
    const response = await request(new URL(path, pebble.directoryUrl), {
      ...{ method: method as 'GET', headers: passed, dispatcher },
      ...(body.length > 0 && { body }),
    });
    const text = await response.body.text();
    if (place && response.statusCode < 300) accepted.push(place);
    if (await hit('after')) return;
    const { 'transfer-encoding': ____, ...answered } = response.headers;
    outgoing.writeHead(response.statusCode, answered).end(text);
  });
  server.on('clientError', (_, socket) => socket.destroy());
  await once(server.listen(0, 'localhost'), 'listening');
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
    await dispatcher.close();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    directoryUrl: `https://localhost:${port}/dir`,
    serverCertificate: pem,
    accepted,
    arm(place, moment, act) {
      armed = { place, moment, act };
    },
  };
}
