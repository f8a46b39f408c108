import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { messageOf } from '../src/errors.ts';
import { freePort } from '../src/postgres/ports.ts';

test('if no address of a name answers, the message has the reason of each', async () => {
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '127.0.0.2', family: 4 },
  ];
  const port = await freePort();
  const socket = connect({ host: 'api.example', port, lookup: (_, __, found) => found(null, addresses) });
  const [error] = await once(socket, 'error');
  expect(messageOf(error)).toBe(`connect ECONNREFUSED 127.0.0.1:${port}; connect ECONNREFUSED 127.0.0.2:${port}`);
});
