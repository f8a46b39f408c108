import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Service } from '../../scripts/service.ts';
import { freePort } from '../../src/postgres/ports.ts';
import { emptyDatabase } from '../api/harness.ts';

test('a program that ends by itself is reported with how it ended; one that is stopped is not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'service-'));
  const port = await freePort();
  const losses: string[] = [];
  const api = new Service('api', {
    folder,
    env: { DATABASE_URL: await emptyDatabase(), PORT: String(port) },
    url: `http://127.0.0.1:${port}`,
    probe: '/healthz',
    onLoss: (how) => losses.push(how),
  });
  onTestFinished(async () => {
    await api.stop();
    rmSync(folder, { recursive: true });
  });
  await api.start();
  await api.restart();
  expect(losses).toEqual([]);
  process.kill(api.pid ?? 0, 'SIGKILL');
  await expect.poll(() => losses).toEqual(['signal SIGKILL']);
  await api.stop();
  expect(losses).toEqual(['signal SIGKILL']);
});
