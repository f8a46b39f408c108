/** What an answer counts for until its last byte, and what becomes of one that is not read; by the clock of the test. */
import { once } from 'node:events';
import { Readable } from 'node:stream';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { ApiError, rateLimited } from '../../../src/api/errors/errors.ts';
import { watchAnswers } from '../../../src/api/http/answers.ts';
import { type Charge, SHARED } from '../../../src/api/http/bytes-in-flight.ts';
import { open, type Peer, request as text } from './api-child.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const SEND_MS = 100_000;
const MIB = 1024 * 1024;
/** More than the kernels of both sides take of what is not read. */
const LARGE = Buffer.alloc(40 * MIB, 'x');

/** An API whose answers are those of `answer`. */
async function start(answer: (request: FastifyRequest, reply: FastifyReply) => unknown, sendTimeoutMs = SEND_MS) {
  const app = Fastify();
  onTestFinished(async () => void (await app.close()));
  app.decorateRequest('documentedPath', 'unmatched');
  app.decorateRequest('caller', null);
  const steps: string[] = [];
  let refusal: ApiError | undefined;
  const charge = (name: string): Charge => ({
    ...SHARED,
    add(bytes) {
      steps.push(`${name} adds ${bytes}`);
      if (refusal) throw refusal;
    },
    hold: (bytes) => void steps.push(`${name} holds ${bytes}`),
    release: () => void steps.push(`${name} releases`),
    end: () => void steps.push(`${name} ends`),
  });
  const counted: string[] = [];
  watchAnswers(app, {
    bytes: { ofAddress: charge, ofCaller: () => charge('a caller'), total: () => 0 },
    sendTimeoutMs,
    metrics: {
      aborted: ({ method, documentedPath }) => void counted.push(`aborted ${method} ${documentedPath}`),
      cut: () => void counted.push('cut'),
    },
  });
  app.setErrorHandler((error, _, reply) => reply.code(error instanceof ApiError ? error.status : 500).send(''));
  const requests: FastifyRequest[] = [];
  app.addHook('onRequest', async (request) => void requests.push(request));
  app.all('/*', answer);
  return {
    app,
    steps,
    counted,
    requests,
    charge,
    refuse: (error: ApiError) => {
      refusal = error;
    },
    listen: async () => ({ port: Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port) }),
  };
}

const ME = '127.0.0.1';

describe('an answer counts', () => {
  test.each<[string, unknown, number]>([
    ['a text', 'ä', 2],
    ['a long text', 'ä'.repeat(20_000), 40_000],
    ['bytes', Buffer.alloc(5), 5],
    ['a stream', Readable.from(['x']), MIB],
    ['nothing', undefined, 0],
  ])('for what it holds, which then takes the place of what was reserved: %s', async (_, payload, bytes) => {
    const { app, steps } = await start((__, reply) => reply.send(payload));
    expect((await app.inject('/')).statusCode).toBe(200);
    expect(steps).toEqual([`${ME} releases`, `${ME} adds ${bytes}`, `${ME} ends`]);
  });

  test.each<['GET' | 'POST', number, string]>([
    ['POST', 200, '/a'],
    ['GET', 201, '/a'],
    ['GET', 404, '/a'],
    ['GET', 200, '/healthz'],
    ['GET', 200, '/metrics'],
  ])('in any case if it is that to a %s, with a %i, of %s', async (method, status, path) => {
    const { app, steps } = await start((request, reply) => {
      request.documentedPath = path;
      return reply.code(status).send('12345');
    });
    await app.inject({ method, url: '/' });
    expect(steps).toEqual([`${ME} holds 5`, `${ME} ends`]);
  });

  test('for whoever has asked, if that is known', async () => {
    const { app, steps, charge } = await start((request, reply) => {
      request.charge = charge('a key');
      return reply.send('12345');
    });
    await app.inject('/');
    expect(steps).toEqual(['a key releases', 'a key adds 5', 'a key ends']);
  });
});

test('what there is no room for is not sent, and says nothing of what it would have been', async () => {
  const stream = Readable.from(['x']);
  const { app, steps, refuse } = await start((_, reply) =>
    reply
      .headers({ etag: '"1"', 'content-encoding': 'gzip', 'cache-control': 'no-cache', 'x-other': 'x' })
      .send(stream),
  );
  refuse(rateLimited(1, 'too much'));
  const { statusCode, headers } = await app.inject('/');
  expect(statusCode).toBe(429);
  expect(headers).toMatchObject({ 'x-other': 'x' });
  for (const name of ['etag', 'content-encoding', 'cache-control']) expect(headers).not.toHaveProperty(name);
  expect(stream.destroyed).toBe(true);
  expect(steps).toEqual([`${ME} releases`, `${ME} adds ${MIB}`, `${ME} holds 0`, `${ME} ends`]);
});

test('what is answered to a client that has gone is held by nobody, and the request is over before', async () => {
  const released = Promise.withResolvers<void>();
  const { listen, app, counted, steps, requests } = await start(async (request) => {
    request.documentedPath = '/{a}';
    await released.promise;
    return 'late';
  });
  const sent: unknown[] = [];
  app.addHook('onSend', async (_, __, payload) => void sent.push(payload));
  const peer = await open(await listen());
  const body = '{"a":1}';
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
  peer.socket.write(text('/', { method: 'POST', headers, body }));
  const request = await waitFor('the request', () => requests.find((each) => each.documentedPath === '/{a}'));
  expect(request.body).toEqual({ a: 1 });
  peer.socket.destroy();
  await waitFor('its end', () => counted.length > 0);
  expect(request.body).toBeUndefined();
  released.resolve();
  await waitFor('the answer', () => sent.length > 0);
  expect([counted, steps]).toEqual([['aborted POST /{a}'], []]);
});

describe('an answer that is not read', () => {
  /** Asks for that, and reads nothing. */
  async function unread(port: { port: number }, requests: string): Promise<Peer> {
    const peer = await open(port);
    peer.socket.pause().write(requests);
    return peer;
  }

  /** Looks for what is late, as a timer does. */
  const pass = (ms: number) => void vi.advanceTimersByTime(ms);

  test('is cut when its time is over', async () => {
    const { listen, counted, steps } = await start((_, reply) => reply.send(LARGE));
    const peer = await unread(await listen(), text('/'));
    await waitFor('the answer', () => steps.length > 0);
    pass(SEND_MS - 1000);
    expect(counted).toEqual([]);
    pass(2000);
    expect(counted).toEqual(['cut']);
    peer.socket.resume();
    expect(await peer.untilEnded()).toBe('reset');
    await waitFor('its end', () => counted.length > 1);
    expect(counted).toEqual(['cut', 'aborted GET unmatched']);
    expect(steps.at(-1)).toBe(`${ME} ends`);
  });

  test('is not, if there is no limit', async () => {
    const { listen, counted, steps } = await start((_, reply) => reply.send(LARGE), 0);
    const peer = await unread(await listen(), text('/'));
    await waitFor('the answer', () => steps.length > 0);
    pass(3 * SEND_MS);
    expect(counted).toEqual([]);
    peer.socket.resume();
    await waitFor('its end', () => steps.at(-1) === `${ME} ends`);
  });

  test('is not cut for a client that has gone, nor for one that has read it', async () => {
    const { listen, counted, steps } = await start((_, reply) => reply.send(LARGE));
    const at = await listen();
    const [gone, other] = [await unread(at, text('/')), await open(at)];
    await waitFor('the answer', () => steps.length > 0);
    gone.socket.destroy();
    await waitFor('its end', () => counted.length > 0);
    other.socket.write(text('/'));
    await waitFor('the end of the other', () => steps.filter((step) => step.endsWith('ends')).length === 2);
    pass(3 * SEND_MS);
    expect(counted).toEqual(['aborted GET unmatched']);
  });

  test('has its whole time from when those before it are read', async () => {
    const released = Promise.withResolvers<string>();
    const { listen, counted, steps } = await start(({ url }, reply) =>
      url === '/first' ? released.promise : reply.send(LARGE),
    );
    const peer = await unread(await listen(), text('/first') + text('/second'));
    await waitFor('the second answer', () => steps.length > 0);
    pass(5 * SEND_MS);
    expect(counted).toEqual([]);
    released.resolve('first');
    await waitFor('the first answer', () => steps.some((step) => step === `${ME} ends`));
    pass(2 * SEND_MS);
    expect(counted).toEqual(['cut']);
    peer.socket.resume();
    expect(await peer.untilEnded()).toBe('reset');
  });

  test('is looked after by nothing any more once the API is closed', async () => {
    const { app } = await start(() => 'x');
    await app.ready();
    expect(vi.getTimerCount()).toBe(1);
    await app.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('a connection that is used again has one end for each answer', async () => {
  const { listen, counted, steps } = await start(() => 'x');
  const peer = await open(await listen());
  for (const count of [1, 2]) {
    peer.socket.write(text('/'));
    await waitFor('the answer', () => steps.filter((step) => step.endsWith('ends')).length === count);
  }
  peer.socket.destroy();
  await once(peer.socket, 'close');
  expect(counted).toEqual([]);
  expect(steps.filter((step) => step.endsWith('ends'))).toHaveLength(2);
});
