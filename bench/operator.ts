/** `npm run bench -- operator`: the operator's speed, processor time, requests and memory, phase by phase. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { z } from 'zod';
import type { KubeObject } from '../src/operator/kube/kube-object.ts';
import { createObjects, type Phase, prepareRun, RULES } from './operator-run.ts';
import { type Stack, startStack } from './operator-stack.ts';
import type { BenchOptions } from './options.ts';
import { tableHead, tableRow } from './table.ts';

const PER_KIND = Number(process.env.BENCH_OBJECTS ?? 2000);
const ALL = 2 * PER_KIND;
const REST_MS = 60_000;
const CONCURRENCY = 16;

export async function benchOperator({ out }: BenchOptions): Promise<void> {
  const stack = await startStack();
  try {
    const bareBefore = await bareLoop(stack, 'bench-bare-1');
    const run = await prepareRun(stack, 'bench-operator', PER_KIND);
    const creation = await run.creation();
    const bareAfter = await bareLoop(stack, 'bench-bare-2');
    out(`Operator: ${PER_KIND} IPPolicies (${RULES.length} rules each) and ${PER_KIND} TunnelCredentials`);
    out('');
    out(tableHead(PHASE_COLUMNS));
    out(phaseRow('creation', creation, ALL));
    out(phaseRow('restart, all settled', await run.restart(), ALL));
    out(phaseRow(`${REST_MS / 1000} s of rest`, await run.rest(REST_MS), ALL));
    out(phaseRow('deletion', await run.deletion(), ALL));
    out('');
    out(`bare loop, before and after: ${bareBefore.toFixed(1)} s and ${bareAfter.toFixed(1)} s`);
    const ratio = (bareBefore + bareAfter) / 2 / creation.seconds;
    out(`rate of the creation against it: ${ratio.toFixed(2)}   (aim: at least 0.7)`);
    out('');
    await run.stop();
  } finally {
    await stack.stop();
  }
}

export const PHASE_COLUMNS = [
  'phase',
  's',
  'objects/s',
  'CPU ms per object',
  'writes per object',
  'reads per object',
  'API requests per object',
  'peak MiB',
];

export function phaseRow(title: string, phase: Phase, objects: number): string {
  const per = (count: number) => (count / objects).toFixed(2);
  return tableRow([
    title,
    phase.seconds.toFixed(1),
    (objects / phase.seconds).toFixed(0),
    per(1000 * phase.cpuSeconds),
    per(phase.writes),
    per(phase.reads),
    per(phase.api),
    phase.peakMiB.toFixed(0),
  ]);
}

/** The seconds that a bare loop takes for the same objects. */
async function bareLoop(stack: Stack, namespace: string): Promise<number> {
  const { policies, credentials } = await createObjects(stack, namespace, PER_KIND);
  const identify = ({ metadata: { name, uid } }: KubeObject) => ({ name, uid });
  const input = {
    kubeconfigPath: stack.kubeconfigPath,
    apiUrl: stack.apiUrl,
    namespace,
    concurrency: CONCURRENCY,
    policies: policies.map((object) => ({ ...identify(object), rules: RULES })),
    credentials: credentials.map(identify),
  };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'bare-loop.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(input));
  let answer = '';
  for await (const chunk of child.stdout) answer += String(chunk);
  return z.object({ seconds: z.number() }).parse(JSON.parse(answer)).seconds;
}
