/** A receiver that is down, silent or something else altogether: requests are answered, and the log says so once. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Child } from '../../dev/processes/child-process.ts';
import { startProgram, untilAnswering } from '../../dev/processes/program.ts';
import { freePort } from '../../src/postgres/ports.ts';
import { emptyDatabase } from '../api/harness.ts';
import { atEnd } from '../end-of-file.ts';
import { type Behaviour, type Receiver, startReceiver } from './receiver.ts';

const KEY = 'tnl_ak_admin_of_the_tests_0123456789';

let api: Child;
let url: string;
let receiver: Receiver;
let port: number;
const folder = await mkdtemp(join(tmpdir(), 'traces-outage-'));
atEnd(() => rm(folder, { recursive: true, force: true }));

beforeAll(async () => {
  const own = await freePort();
  port = await freePort();
  url = `http://127.0.0.1:${own}`;
  api = startProgram(['api', '--port', String(own)], {
    name: 'api',
    folder,
    env: {
      LOG_FORMAT: 'json',
      DATABASE_URL: await emptyDatabase(),
      BOOTSTRAP_API_KEY: KEY,
      SHUTDOWN_TIMEOUT: '5s',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://user:password@127.0.0.1:${port}/v1/traces`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '200',
      OTEL_BSP_SCHEDULE_DELAY: '10',
    },
  });
  await untilAnswering(api, `${url}/readyz`);
});

afterAll(async () => {
  await api.stop();
  await receiver?.close();
});

const log = () => readFile(api.logFile, 'utf8');

async function lines(message: RegExp): Promise<Record<string, unknown>[]> {
  const written = (await log()).split('\n').filter((line) => line.startsWith('{'));
  return written
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter(({ msg }) => message.test(String(msg)));
}

const eventually = (attempt: () => Promise<void>) => vi.waitFor(attempt, { timeout: 30_000, interval: 20 });

const [LOST, SENT] = [/traces cannot be sent/, /traces are sent again/];

async function ask(): Promise<void> {
  const answer = await fetch(`${url}/whoami`, { headers: { authorization: `Bearer ${KEY}` } });
  expect(answer.status).toBe(200);
}

/** Asks until the receiver has been sent two more batches, which come one after the other. */
async function askWhileIt(behaves: Behaviour): Promise<void> {
  receiver.behaviour = behaves;
  const before = receiver.requests.length;
  await eventually(async () => {
    await ask();
    expect(receiver.requests.length).toBeGreaterThan(before + 1);
  });
}

test('nobody there, silence, and pages of something else are one line, whatever follows what', async () => {
  await eventually(async () => {
    await ask();
    expect(await lines(LOST)).toHaveLength(1);
  });
  receiver = await startReceiver(port);
  await askWhileIt('hangs');
  await askWhileIt('refuses with a page');
  expect(await lines(LOST)).toMatchObject([{ level: 40, error: expect.stringContaining('ECONNREFUSED') }]);
  expect(await lines(SENT)).toEqual([]);
});

test('that they can be sent again is said once, and the next failure is news', async () => {
  await askWhileIt('takes');
  await askWhileIt('answers with a page');
  expect(receiver.spans.length).toBeGreaterThan(0);
  expect(await lines(SENT)).toMatchObject([{ lost: expect.any(Number) }]);
  await askWhileIt('refuses with a page');
  await eventually(async () => expect(await lines(LOST)).toHaveLength(2));
  expect((await lines(LOST))[1]).toMatchObject({ status: 404 });
  expect((await log()).includes('xxxx')).toBe(false);
});

test('one that hangs does not hold up the end', async () => {
  await askWhileIt('hangs');
  expect(await api.stop({ graceMs: 30_000 })).toMatchObject({ code: 0 });
  expect(await lines(/^stopped$/)).toHaveLength(1);
  expect(await lines(/could not|not everything/)).toEqual([]);
  // Of the URL of the receiver, as of everything else.
  expect(await log()).not.toContain('password');
});
