import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';

test('the API handles SIGTERM while it is loading, since process 1 ignores a signal without a handler', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const { port } = z.object({ port: z.number() }).parse(silent.address());
  const signal = "process.kill(process.pid, 'SIGTERM')";
  const resolve = `(name, context, next) => (name.endsWith('/api/settings.ts') && ${signal}, next(name, context))`;
  const hook = `import { registerHooks } from 'node:module'; registerHooks({ resolve: ${resolve} });`;
  const preload = `data:text/javascript,${encodeURIComponent(hook)}`;
  const env = { DATABASE_URL: `postgres://nobody@127.0.0.1:${port}/none`, PORT: '0', SHUTDOWN_TIMEOUT: '1s' };
  const stdio = ['ignore', 'pipe', 'ignore'] as const;
  const child = spawn(process.execPath, ['--import', preload, 'src/main.ts', 'api'], { env, stdio: [...stdio] });
  let said = '';
  child.stdout?.on('data', (part) => {
    said += String(part);
  });
  const [code, endedBy] = await once(child, 'close');
  // 143 before there is anything to finish, 1 at the deadline after that. Without a handler, the signal would end it.
  expect([code, endedBy]).toEqual([said.includes('"msg":"stopping"') ? 1 : 143, null]);
}, 30_000);
