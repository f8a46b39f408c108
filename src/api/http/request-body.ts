/** Reads request bodies: JSON only, strictly, and charged to the caller while they are held. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError, invalidByRule, RequestAborted, refused } from '../errors/errors.ts';
import type { BytesInFlight, Charge } from '../guard/bytes-in-flight.ts';
import { sendContinue } from '../guard/expect-continue.ts';
import { addressOf } from '../guard/rate-limit.ts';
import { parseJson } from './json-body.ts';

/** @param limit maximum size of a body in bytes */
export function readBodies(app: FastifyInstance, limit: number, bytes: Pick<BytesInFlight, 'ofAddress'>): void {
  const unreadable = new WeakMap<FastifyRequest, Error>();
  // The parser must not throw it: Fastify would close the connection, and a client that is still sending would see a
  // broken pipe instead of the response.
  app.addHook('preValidation', (request, _reply, done) => done(unreadable.get(request)));
  app.removeAllContentTypeParsers();
  // Some clients give an empty body the type of a form.
  for (const [type, read] of [
    ['application/json', readJson],
    ['*', readEmpty],
  ] as const)
    app.addContentTypeParser(type, (request: FastifyRequest) => {
      request.charge ??= bytes.ofAddress(addressOf(request));
      return read(request, limit, request.charge).catch((error: Error) => void unreadable.set(request, error));
    });
}

async function readJson(request: FastifyRequest, limit: number, charge: Charge): Promise<unknown> {
  const body = await readBytes(request, limit, charge, tooLarge);
  const charset = /;\s*charset="?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw unsupportedMediaType();
  const { 'content-encoding': coding = 'identity' } = request.headers;
  if (!/^\s*identity(?:\s*,\s*identity)*\s*$/i.test(coding)) throw unsupportedCoding();
  const parsed = parseJson(body);
  if ('reason' in parsed) throw refused({ body: parsed });
  charge.add(parsed.bytes);
  return parsed.value;
}

async function readEmpty(request: FastifyRequest, _limit: number, charge: Charge): Promise<undefined> {
  await readBytes(request, 0, charge, unsupportedMediaType);
}

/** Overhead of each piece of a body: a body that is sent byte by byte has very many pieces. */
const BYTES_PER_PIECE = 512;

/**
 * Reads the raw body. Fastify's own reader does not charge what it holds.
 * @throws what `tooLong` makes or `charge` throws, INVALID_REQUEST, RequestAborted
 */
function readBytes(
  { headers, raw }: Pick<FastifyRequest, 'headers' | 'raw'>,
  limit: number,
  charge: Charge,
  tooLong: () => ApiError,
): Promise<Buffer> {
  if (raw.destroyed) return Promise.reject(new RequestAborted());
  const announced = Number(headers['content-length']);
  if (announced > limit) return Promise.reject(tooLong());
  sendContinue(raw);
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    const settle = (settled: () => void) => {
      raw.off('data', onData).off('end', onEnd).off('error', onError);
      settled();
    };
    const onData = (piece: Buffer) => {
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
        if (announced >= 0 && announced !== size) reject(lengthDiffers());
        else resolve(Buffer.concat(pieces, size));
      });
    // Only the connection of a request can fail.
    const onError = () => settle(() => reject(new RequestAborted()));
    raw.on('data', onData).on('end', onEnd).on('error', onError);
  });
}

const tooLarge = () => new ApiError('PAYLOAD_TOO_LARGE', 'The request body is too large.');

const lengthDiffers = () => invalidByRule({ 'Content-Length': 'differs from the length of the body' });

export const unsupportedMediaType = () =>
  new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Request bodies must be JSON in UTF-8: "Content-Type: application/json".');

/** The header tells a wrong coding from a wrong media type (RFC 9110, sections 12.5.3 and 15.5.16). */
const unsupportedCoding = () =>
  new ApiError(
    'UNSUPPORTED_MEDIA_TYPE',
    'Encoded request bodies are not supported: send no Content-Encoding, or "identity".',
    {},
    { 'accept-encoding': 'identity' },
  );
