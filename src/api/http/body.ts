/** Reads a request body, and charges every byte that it holds to the caller while it holds it. */
import type { FastifyRequest } from 'fastify';
import { ApiError, invalidByRule } from '../errors/errors.ts';
import type { Charge } from './bytes-in-flight.ts';
import { RequestAborted } from './request-aborted.ts';

/** As nginx logs it; no client ever sees it. */
export const ABORTED = 499;

/** What a piece of a body costs beside its bytes, however small it is: a body sent in single bytes holds many. */
const BYTES_PER_PIECE = 512;

/**
 * The body as it was sent. Not by Fastify's own reader, which holds whatever up to the limit has arrived, for as many
 * clients as there are.
 * @param limit maximum size in bytes
 * @throws PAYLOAD_TOO_LARGE, and what `charge` throws; settles no more once the request is over
 */
export function readBody(
  { headers, raw }: Pick<FastifyRequest, 'headers' | 'raw'>,
  limit: number,
  charge: Charge,
): Promise<Buffer> {
  if (raw.destroyed) return Promise.reject(new RequestAborted());
  const announced = Number(headers['content-length']);
  if (announced > limit) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    const stop = () => raw.off('data', onData).off('end', onEnd).off('error', onError);
    const settle = (done: () => void) => {
      stop();
      done();
    };
    const onData = (piece: Buffer) => {
      if (charge.isOver) return void stop();
      size += piece.length;
      try {
        if (size > limit) throw tooLarge();
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
    raw.on('data', onData).on('end', onEnd).on('error', onError);
  });
}

const tooLarge = () => new ApiError('PAYLOAD_TOO_LARGE', 'The request body is too large.');

const lengthDiffers = () => invalidByRule({ 'Content-Length': 'differs from the length of the body' });
