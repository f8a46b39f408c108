/** The programs that run until they are told to stop. Each is loaded only when it runs. */
import type { ApiConfig } from './api/settings.ts';
import type { WorkerConfig } from './api/worker-settings.ts';
import { createLogger } from './log.ts';
import type { OperatorConfig, operatorSettings } from './operator/settings.ts';
import type { LogConfig } from './settings/log.ts';
import type { Followed, SecretLog } from './settings/secret-files.ts';
import { untilSignalled } from './signals.ts';
import { type TracingConfig, tracesUrl, type tracingSettings } from './tracing/settings.ts';
import { startTracing } from './tracing/start.ts';
import type { Tracing } from './tracing/tracing.ts';

type Log = ReturnType<typeof createLogger>;

export async function runApi(settings: ApiConfig, log: Log, tracing: Tracing | undefined): Promise<void> {
  const { startApi } = await import('./api/server.ts');
  const { announceKey } = await import('./api/announced-key.ts');
  await runUntilSignalled(settings, log, async () => {
    const api = await startApi(settings, log, (key) => announceKey(key, log), tracing);
    log.info({ url: api.url }, 'the management API is ready');
    return api;
  });
}

export async function runWorker(settings: WorkerConfig, log: Log): Promise<void> {
  const { startWorker } = await import('./api/worker.ts');
  await runUntilSignalled(settings, log, async () => {
    const worker = await startWorker(settings, log);
    log.info({ url: worker.url }, 'the worker delivers events');
    return worker;
  });
}

/** Starts a program, and ends the process within the shutdown timeout of a signal. */
async function runUntilSignalled(
  { shutdownTimeoutMs }: { shutdownTimeoutMs: number },
  log: Log,
  start: () => Promise<{ stop(): Promise<void> }>,
): Promise<void> {
  // Before the start, which may take long: process 1 of a container must handle signals itself.
  const signalled = untilSignalled().then((signal) => {
    log.info({ signal }, 'stopping');
    setTimeout(() => {
      log.error('not everything could be closed in time (SHUTDOWN_TIMEOUT); exiting');
      process.exit(1);
    }, shutdownTimeoutMs).unref();
  });
  const program = await start();
  await signalled;
  await program.stop();
  log.info('stopped');
  // A statement that still hangs would keep the process alive.
  process.exit();
}

/** @param follow follows the secrets that are given as files */
export async function runOperator(
  settings: OperatorConfig & LogConfig & TracingConfig,
  version: string,
  follow: (log: SecretLog) => Followed<typeof operatorSettings & typeof tracingSettings>,
): Promise<void> {
  let tracing: Tracing | undefined;
  const more = tracesUrl(settings) === undefined ? undefined : () => tracing?.ids() ?? {};
  const log = createLogger({ level: settings.logLevel, format: settings.logFormat, more });
  const { apiKey: latestApiKey, otlpHeaders: latestOtlpHeaders } = follow(log);
  tracing = await startTracing({ ...settings, latestOtlpHeaders }, { service: 'tunnel-operator', version, log });
  const { TunnelOperator } = await import('./operator/operator.ts');
  const { collectOnce } = await import('./operator/lean-process.ts');
  collectOnce();
  const operator = new TunnelOperator({ ...settings, latestApiKey }, log, tracing);
  const signalled = untilSignalled().then(() => 'signal' as const);
  const lost = operator.lostLead.then(() => 'lost' as const);
  const started = operator.start().then(() => new Promise<never>(() => {}));
  const why = await Promise.race([signalled, lost, started]);
  // Another process may already be active: work in flight must not be finished.
  if (why === 'lost') process.exit(1);
  await operator.stop();
  // A receiver that does not accept the last traces would keep the process alive.
  process.exit();
}
