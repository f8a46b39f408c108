/** Listening on the address of the settings. */
import { lookup } from 'node:dns/promises';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { cannotListen } from '../settings/cannot-start.ts';
import { listenAddress } from '../settings/listen-address.ts';

export interface Listener {
  host: string;
  /** 0 picks a free one. */
  port: number;
  /** The variables that set them, for the message of a failure. */
  names: { host: string; port: string };
}

/**
 * Listens on one address: for the name localhost, Fastify would add servers that our limits do not cover.
 * @returns the URL at which this machine reaches it
 * @throws CannotStart
 */
export async function listen(app: FastifyInstance, { host, port, names }: Listener): Promise<string> {
  try {
    const { address } = await lookup(listenAddress(host));
    await app.listen({ host: address, port });
  } catch (error) {
    throw cannotListen(error, { host, port, names });
  }
  return urlOf(app.server.address());
}

function urlOf(address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  const { family, port } = address;
  const wildcard = address.address === '::' || address.address === '0.0.0.0';
  const host = wildcard ? 'localhost' : family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${port}`;
}
