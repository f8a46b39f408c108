/** Refusals come by the thousand: for each kind one line when it begins, then one a minute with their number. */
import type { FastifyBaseLogger } from 'fastify';

const LOG_EVERY_MS = 60_000;

/** Returns what is to be called at every refusal. */
export function refusalLog(
  log: Pick<FastifyBaseLogger, 'warn'>,
  about: Record<string, unknown>,
  texts: { first: string; later: string },
): () => void {
  let refused = 0;
  let timer: NodeJS.Timeout | undefined;
  return () => {
    refused++;
    if (timer) return;
    log.warn(about, texts.first);
    timer = setInterval(() => {
      if (refused > 0) log.warn({ ...about, refused }, texts.later);
      else {
        clearInterval(timer);
        timer = undefined;
      }
      refused = 0;
    }, LOG_EVERY_MS).unref();
  };
}

/** The same by reason, of which there must be few. */
export function refusalLogs(log: Pick<FastifyBaseLogger, 'warn'>): (reason: string) => void {
  const logs = new Map<string, () => void>();
  return (reason) => {
    let refused = logs.get(reason);
    if (!refused) {
      refused = refusalLog(log, { reason }, { first: 'refusing requests', later: 'refused requests' });
      logs.set(reason, refused);
    }
    refused();
  };
}
