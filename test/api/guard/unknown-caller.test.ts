/** How much of a request is read before its caller is known. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { heldTransaction, startTestApi, untilWaiting } from '../harness.ts';
import { request } from './api-child.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

test('little of a body is read before there is a known caller to charge it to', async () => {
  const api = await startTestApi();
  const { port } = new URL(await api.app.listen({ port: 0, host: '127.0.0.1' }));
  const held = await heldTransaction(api.databaseUrl);
  await held.query('lock table api_keys');
  const taken = once(api.app.server, 'connection');
  const socket = connect(Number(port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  const headers = { 'content-type': 'application/json', 'content-length': `${8 * MIB}` };
  socket.write(request('/ip_policies', { method: 'POST', headers }) + 'x'.repeat(8 * MIB));
  const [server]: Socket[] = await taken;
  await untilWaiting(api, 1);
  await delay(200);
  expect(server?.bytesRead).toBeGreaterThan(0);
  expect(server?.bytesRead).toBeLessThan(MIB);
  await held.rollback();
});
