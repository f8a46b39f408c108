/** The log at the other end of whose pipe or socket nobody reads for a while. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';

const sourceOf = (path: string) => JSON.stringify(new URL(`../src/${path}`, import.meta.url).href);

const COUNT = 80_000;
const MIB = 1024 * 1024;

/** Logs about 15 MB, gives the event loop its turns, and says on standard error what that took and what the metrics have. */
const FLOOD = `
  import { createLogger } from ${sourceOf('log.ts')};
  import { createMetrics as metricsOfApi } from ${sourceOf('api/http/metrics.ts')};
  import { createMetrics as metricsOfOperator } from ${sourceOf('operator/metrics.ts')};
  const log = createLogger({ level: 'info', format: 'json' });
  process.once('SIGTERM', () => {
    log.info('the last line');
    process.exit(3);
  });
  function held() {
    gc();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  }
  const before = held();
  for (let n = 0; n < ${COUNT}; n++) {
    log.info({ n }, 'x'.repeat(80));
    if (n % 1000 === 0) await new Promise((turn) => setImmediate(turn));
  }
  const usage = () => ({ open: 0, refused: 0, total: 0, idle: 0, waiting: 0 });
  const { registry } = metricsOfApi({ db: { usage }, bytes: { total: () => 0 }, connections: { usage } });
  const valueOf = async (from, name) => (await from.getSingleMetric(name).get()).values[0].value;
  process.stderr.write(JSON.stringify({
    grown: held() - before,
    api: await valueOf(registry, 'log_lines_lost_total'),
    operator: await valueOf(metricsOfOperator().registry, 'tunnel_operator_log_lines_lost_total'),
  }) + '\\n');
`;

const Said = z.object({ grown: z.number(), api: z.number(), operator: z.number() });
const Line = z.object({ n: z.number().optional(), lost: z.number().optional(), msg: z.string(), level: z.number() });

const programs = {
  'that waits for a signal': 'setInterval(() => undefined, 1000);',
  'that ends by itself': "log.info('the last line'); process.exitCode = 3;",
  'that exits': "log.info('the last line'); process.exit(3);",
  'that an error ends': `
    process.once('uncaughtException', (error) => {
      log.fatal(error.message);
      process.exit(3);
    });
    setImmediate(() => { throw new Error('the last line'); });`,
};

/** Nobody reads its log before `read` is called. Node's own pipes are sockets; those of a shell or container are not. */
function start(kind: 'pipe' | 'socket', program: string) {
  const node = [process.execPath, '--expose-gc', '--input-type=module', '--eval', FLOOD + program];
  if (kind === 'socket') {
    const child = spawn('/bin/sh', ['-c', 'exec "$@"', 'sh', ...node]);
    onTestFinished(() => void child.kill('SIGKILL'));
    // Else what is left in it when the child ends is thrown away.
    child.stdout.on('readable', () => undefined);
    return { child, read: (): Readable => child.stdout };
  }
  const folder = mkdtempSync(join(tmpdir(), 'log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'pipe');
  spawnSync('mkfifo', [path]);
  const end = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const child = spawn('/bin/sh', ['-c', 'out=$1; shift; exec "$@" >"$out"', 'sh', path, ...node]);
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, read: (): Readable => new Socket({ fd: end, readable: true, writable: false }) };
}

function linesOf(all: string) {
  expect(all.endsWith('\n')).toBe(true);
  return all
    .slice(0, -1)
    .split('\n')
    .map((line) => Line.parse(JSON.parse(line)));
}

describe.each(['pipe', 'socket'] as const)('a %s that nobody reads', (kind) => {
  test('takes a few megabytes, and whoever reads again is told how many lines are lost, in their place', async () => {
    const { child, read } = start(kind, programs['that waits for a signal']);
    const [said] = await once(child.stderr, 'data');
    const { grown, api, operator } = Said.parse(JSON.parse(String(said)));
    expect(grown).toBeLessThan(8 * MIB);
    let all = '';
    for await (const part of read().setEncoding('utf8')) {
      all += String(part);
      if (!child.killed && all.includes(`"n":${COUNT - 1},`)) child.kill('SIGTERM');
    }
    const lines = linesOf(all);
    const gap = lines.findIndex(({ lost }) => lost !== undefined);
    const lost = lines[gap]?.lost ?? 0;
    expect({ api, operator }).toEqual({ api: lost, operator: lost });
    expect(lost).toBeGreaterThan(COUNT / 2);
    expect(lines[gap]?.level).toBe(40);
    const numbers = Array.from({ length: COUNT }, (_, n) => n);
    const kept = lines.filter((line) => line.n !== undefined).map(({ n }) => n);
    expect(kept).toEqual([...numbers.slice(0, gap), ...numbers.slice(gap + lost)]);
    expect(lines.at(-1)?.msg).toBe('the last line');
  });

  test.each(Object.entries(programs))('holds up no program %s, nor tears its lines', async (_, program) => {
    const { child, read } = start(kind, program);
    await once(child.stderr, 'data');
    const ended = once(child, 'exit');
    if (program === programs['that waits for a signal']) child.kill('SIGTERM');
    expect(await ended).toEqual([3, null]);
    const lines = linesOf(await text(read()));
    expect(lines.map(({ n }) => n)).toEqual(lines.map((__, n) => n));
  });
});
