/** The client has a call for every operation. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { ApiError } from '../../src/client/errors.ts';
import { newId } from '../../src/resources/definition/id.ts';
import { document } from '../api/openapi/openapi-check.ts';
import { atEnd } from '../end-of-file.ts';
import { readContract } from './coverage.ts';

/** Every function of an object, and of the objects in it. */
function* calls(node: object): Generator<(...args: unknown[]) => unknown> {
  for (const member of Object.values(node)) {
    if (typeof member === 'function') yield member;
    else if (member !== null && typeof member === 'object') yield* calls(member);
  }
}

test('the client has a call for every operation', async () => {
  const contract = readContract(document);
  const reached = new Set<string>();
  const server = createServer((request, response) => {
    const { method = '', url: path = '' } = request;
    const operation = contract.operationOf({ method: method as 'GET', path });
    reached.add(operation?.name ?? `${method} ${path}`);
    const body = { error_code: 'NOT_FOUND', status_code: 404, msg: 'nothing is here', details: {} };
    request
      .resume()
      .on('end', () => response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify(body)));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'none' });
  atEnd(() => new Promise((done) => server.close(done)));

  const { close, destroy, ...known } = client;
  const id = newId('x');
  const ignoreRefusal = (error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
  };
  /** Calls it with a body as the second argument or, for nested resources, with an id. */
  function resultOf(call: (...args: unknown[]) => unknown): object {
    try {
      return call(id, {}) as object;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      return call(id, id) as object;
    }
  }
  async function tryAll(node: object): Promise<void> {
    for (const call of calls(node)) {
      const made = resultOf(call);
      if (made instanceof Promise) await made.catch(ignoreRefusal);
      else if (Symbol.asyncIterator in made) await Array.fromAsync(made as AsyncIterable<unknown>).catch(ignoreRefusal);
      else await tryAll(made);
    }
  }
  await tryAll(known);
  await close();
  expect([...reached].sort()).toEqual(contract.operations.map(({ name }) => name).sort());
});
