import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Child, startChild } from '../../../dev/processes/child-process.ts';
import { waitFor } from '../../../dev/processes/wait.ts';
import { isRunning } from '../../../src/postgres/is-running.ts';

let directory = '';
const children: Child[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'child-process-test-'));
});
afterAll(async () => {
  await Promise.all(children.map((child) => child.stop({ signal: 'SIGKILL' })));
  await rm(directory, { recursive: true });
});

function shell(script: string): Child {
  const logFile = join(directory, 'log');
  const child = startChild({ name: 'shell', command: '/bin/sh', args: ['-c', script], logFile });
  children.push(child);
  return child;
}

describe('a child process', () => {
  it('is killed when it does not end in time', async () => {
    const child = shell('trap "" TERM; echo deaf; while :; do sleep 0.1; done');
    await waitFor('the trap', () => child.logTail().includes('deaf'));
    expect(await child.stop({ graceMs: 100 })).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('ends even while paused', async () => {
    const child = shell('exec sleep 1000');
    child.kill('SIGSTOP');
    expect(await child.stop()).toEqual({ code: null, signal: 'SIGTERM' });
  });
});

describe('when the process that started them is killed by SIGKILL', () => {
  it('neither a control plane nor Postgres survives, and their data is removed', { timeout: 180_000 }, async () => {
    const script = join(import.meta.dirname, 'fixtures', 'services.ts');
    const env = { ...process.env };
    delete env.TEST_KUBECONFIG;
    const parent = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'], env });
    const [line] = await once(createInterface({ input: parent.stdout }), 'line');
    const told = z.object({ pids: z.array(z.number()), dataDirs: z.array(z.string()) }).parse(JSON.parse(line));
    expect(told.pids.length).toBeGreaterThanOrEqual(3);
    expect(told.pids.filter(isRunning)).toEqual(told.pids);

    parent.kill('SIGKILL');
    await waitFor('all of them to end', () => !told.pids.some(isRunning), { timeoutMs: 10_000 });
    await waitFor('their folders to be removed', () => !told.dataDirs.some(existsSync), { timeoutMs: 10_000 });
  });
});
