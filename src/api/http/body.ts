/** Reads a request body, and charges every byte that it holds to the caller while it holds it. */
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { ApiError, invalidByRule } from '../errors/errors.ts';
import type { Charge } from './bytes-in-flight.ts';
import { RequestAborted } from './request-aborted.ts';

/** As nginx logs it; no client ever sees it. */
export const ABORTED = 499;

/** What a piece of a body costs beside its bytes, however small it is: a body sent in single bytes holds many. */
const BYTES_PER_PIECE = 512;

/** Why no more of a body can be read than has been. */
const refusals = new WeakMap<IncomingMessage, ApiError>();
const REFUSED = Symbol('the body cannot be read');

/** For whoever reads the body of this request, now or later: Node's parser could make nothing of it. */
export function refuseBody(request: IncomingMessage, why: ApiError): void {
  refusals.set(request, why);
  request.emit(REFUSED);
}

/**
 * The body as it was sent. Not by Fastify's own reader, which holds whatever up to the limit has arrived, for as many
 * clients as there are.
 * @param limit maximum size in bytes
 * @param tooLong makes what to throw for more than that; PAYLOAD_TOO_LARGE by default
 * @throws what `tooLong` makes or `charge` throws, and why the body was refused; never settles once the request is over
 */
export function readBody(
  { headers, raw }: Pick<FastifyRequest, 'headers' | 'raw'>,
  limit: number,
  charge: Charge,
  tooLong: () => ApiError = tooLarge,
): Promise<Buffer> {
  if (raw.destroyed) return Promise.reject(new RequestAborted());
  const announced = Number(headers['content-length']);
  if (announced > limit) return Promise.reject(tooLong());
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    const stop = () => raw.off('data', onData).off('end', onEnd).off('error', onError).off(REFUSED, onRefused);
    const settle = (done: () => void) => {
      stop();
      done();
    };
    const onData = (piece: Buffer) => {
      if (charge.isOver) return void stop();
      size += piece.length;
      try {
        if (size > limit) throw tooLong();
        charge.add(piece.length + BYTES_PER_PIECE);
        pieces.push(piece);
      } catch (error) {
        settle(() => reject(error));
      }
    };
    const onEnd = () =>
      settle(() => {
        if (charge.isOver) return;
        if (announced >= 0 && announced !== size) reject(lengthDiffers());
        else resolve(Buffer.concat(pieces, size));
      });
    // Of a request, nothing but its connection can fail.
    const onError = () => settle(() => reject(new RequestAborted()));
    const onRefused = () => settle(() => reject(refusals.get(raw)));
    if (refusals.has(raw)) return onRefused();
    raw.on('data', onData).on('end', onEnd).on('error', onError).on(REFUSED, onRefused);
  });
}

const tooLarge = () => new ApiError('PAYLOAD_TOO_LARGE', 'The request body is too large.');

const lengthDiffers = () => invalidByRule({ 'Content-Length': 'differs from the length of the body' });
