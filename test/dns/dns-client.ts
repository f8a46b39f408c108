/** Asks a DNS server one question, as it is given. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type DecodedPacket, decode, encode, type Packet, RECURSION_DESIRED } from 'dns-packet';

export const TRANSPORTS = ['udp', 'tcp'] as const;
export type Transport = (typeof TRANSPORTS)[number];

const HOST = '127.0.0.1';

/** A query with EDNS, as resolvers send it. */
export function query(name: string, type: string, packet: Packet = {}): Buffer {
  const edns = { name: '.', type: 'OPT', udpPayloadSize: 4096, extendedRcode: 0, ednsVersion: 0, flags: 0 } as const;
  return encode({
    ...{ type: 'query', id: 4711, flags: RECURSION_DESIRED },
    // The library writes more types than its declarations list.
    questions: [{ name, type: type as 'TXT', class: 'IN' }],
    additionals: [{ ...edns, flag_do: false, options: [] }],
    ...packet,
  });
}

/** The bytes of the response. */
export async function responseTo(message: Buffer, port: number, transport: Transport): Promise<Buffer> {
  if (transport === 'udp') {
    const socket = createSocket('udp4');
    socket.send(message, port, HOST);
    const [response] = await once(socket, 'message');
    socket.close();
    return response;
  }
  const socket = connect(port, HOST);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  // In pieces, as a network may deliver it.
  for (const piece of [length.subarray(0, 1), length.subarray(1), message.subarray(0, 5), message.subarray(5)]) {
    socket.write(piece);
  }
  let received: Buffer = Buffer.alloc(0);
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk]);
    if (received.length >= 2 && received.length === 2 + received.readUInt16BE(0)) break;
  }
  return received.subarray(2);
}

export async function ask(message: Buffer, port: number, transport: Transport): Promise<DecodedPacket> {
  return decode(await responseTo(message, port, transport));
}
