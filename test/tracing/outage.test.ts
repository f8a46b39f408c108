/** A receiver that is down, silent or not a receiver at all: the log says so once, and the API still stops. */
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startApi } from '../../src/api/server.ts';
import { freePort } from '../../src/postgres/ports.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { tracingSettings } from '../../src/tracing/settings.ts';
import { startTracing } from '../../src/tracing/start.ts';
import { emptyDatabase } from '../api/harness.ts';
import { type Behaviour, startReceiver } from './receiver.ts';

const eventually = (attempt: () => void) => vi.waitFor(attempt, { timeout: 30_000, interval: 20 });

test('an outage and its end are logged in one line each, and a stop does not wait for the receiver', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const port = await freePort();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://user:password@127.0.0.1:${port}`, OTEL_BSP_SCHEDULE_DELAY: '10' };
  vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '200');
  onTestFinished(() => void vi.unstubAllEnvs());
  const tracing = await startTracing(readSettings(tracingSettings, {}, env), { service: 'a', version: '1', log });
  if (!tracing) throw new Error('there is an endpoint');
  const api = await startApi(
    { databaseUrl: await emptyDatabase(), port: 0, shutdownTimeoutMs: 1_000 },
    log,
    () => {},
    tracing,
  );
  const said = (message: RegExp) => lines.filter(({ msg }) => message.test(String(msg)));
  const [lost, sent] = [() => said(/traces cannot be sent/), () => said(/traces are sent again/)];
  const request = () => tracing.begin({ name: 'x' }).end();

  await eventually(() => {
    request();
    expect(lost()).toMatchObject([{ level: 40, error: expect.stringContaining('ECONNREFUSED') }]);
  });
  const receiver = await startReceiver(port);
  onTestFinished(() => receiver.close());
  /** Sends spans until the receiver has been sent two more batches, one after the other. */
  const askWhileIt = (behaves: Behaviour) => {
    receiver.behaviour = behaves;
    const before = receiver.requests.length;
    return eventually(() => {
      request();
      expect(receiver.requests.length).toBeGreaterThan(before + 1);
    });
  };
  await askWhileIt('hangs');
  await askWhileIt('refuses with a page');
  expect([lost().length, sent().length]).toEqual([1, 0]);
  await askWhileIt('takes');
  await askWhileIt('answers with a page');
  expect(sent()).toMatchObject([{ lost: expect.any(Number) }]);
  await askWhileIt('refuses with a page');
  await eventually(() => expect(lost()).toHaveLength(2));
  expect(lost()[1]).toMatchObject({ status: 404 });

  receiver.behaviour = 'hangs';
  request();
  await api.stop();
  for (const secret of ['xxxx', 'password']) expect(JSON.stringify(lines)).not.toContain(secret);
});
