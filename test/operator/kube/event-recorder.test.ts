import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { EventRecorder } from '../../../src/operator/kube/event-recorder.ts';
import type { KubeEvent } from '../../../src/operator/kube/kube-event.ts';
import { createKubeMetrics } from '../../../src/operator/kube/metrics.ts';
import { object } from '../objects.ts';
import { type Answer, answering, json, refusal } from './answering.ts';

const START = new Date('2026-11-21T10:00:00Z');
const TEN_MINUTES = 600_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'], now: START }));
afterEach(() => void vi.useRealTimers());

const created: KubeEvent = { type: 'Normal', reason: 'Created', message: 'it is there' };
const refused: KubeEvent = { type: 'Warning', reason: 'Refused', message: 'not this' };

async function setUp(...answers: Answer[]) {
  const server = await answering(...answers, json(object()));
  const registry = new Registry();
  const lines: Record<string, unknown>[] = [];
  const recorder = new EventRecorder(server.connect(), {
    component: 'operator',
    instance: 'pod-1',
    log: pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) }),
    metrics: createKubeMetrics(registry, 'tests'),
  });
  const dropped = async (reason: string) => {
    const start = `tests_kube_events_dropped_total{reason="${reason}"} `;
    const line = (await registry.metrics()).split('\n').find((each) => each.startsWith(start));
    return Number(line?.slice(start.length) ?? 0);
  };
  const asked = () => server.asked.map(({ line, body }) => [line, JSON.parse(body)] as const);
  return { recorder, asked, lines, dropped, log: () => lines.map(({ level, msg }) => [level, msg]) };
}

describe('an Event', () => {
  const name = `a.${START.getTime().toString(16)}`;
  const EVENTS = '/api/v1/namespaces/ns/events';

  test('is created once, and its count is raised when it is repeated within ten minutes', async () => {
    const { recorder, asked, dropped } = await setUp();
    recorder.record(object(), created);
    recorder.record(object(), refused);
    for (const ms of [1_000, TEN_MINUTES - 1_001, 1]) {
      await recorder.flush();
      vi.advanceTimersByTime(ms);
      recorder.record(object(), created);
    }
    await recorder.flush();
    expect(asked()).toMatchObject([
      [`POST ${EVENTS}`, { metadata: { name: `${name}0` }, reason: 'Created', count: 1, reportingInstance: 'pod-1' }],
      [`POST ${EVENTS}`, { metadata: { name: `${name}1` }, reason: 'Refused', count: 1 }],
      [`PATCH ${EVENTS}/${name}0`, { count: 2, lastTimestamp: '2026-11-21T10:00:01Z' }],
      [`PATCH ${EVENTS}/${name}0`, { count: 3, lastTimestamp: '2026-11-21T10:09:59Z' }],
      [`POST ${EVENTS}`, { reason: 'Created', count: 1 }],
    ]);
    expect([await dropped('rate'), await dropped('failed')]).toEqual([0, 0]);
  });

  test('that was deleted is created again', async () => {
    const { recorder, asked, dropped } = await setUp(json(object()), refusal(404));
    for (let times = 0; times < 3; times++) recorder.record(object(), created);
    await recorder.flush();
    expect(asked().map(([line, { count }]) => [line.split(' ')[0], count])).toEqual([
      ['POST', 1],
      ['PATCH', 2],
      ['POST', 1],
      ['PATCH', 2],
    ]);
    expect(await dropped('failed')).toBe(0);
  });
});

describe('the event recorder', () => {
  test('warns once about a missing permission, and again after a success', async () => {
    const forbidden = refusal(403);
    const { recorder, log, dropped } = await setUp(
      forbidden,
      forbidden,
      refusal(500),
      forbidden,
      json(object()),
      forbidden,
    );
    for (let times = 0; times < 6; times++) recorder.record(object(), { ...created, message: `${times}` });
    await recorder.flush();
    const warning = [40, 'not allowed to write Kubernetes Events; grant create and patch on events'];
    const repeated = [20, 'could not send a Kubernetes Event'];
    expect(log()).toEqual([warning, repeated, repeated, repeated, warning]);
    expect(await dropped('failed')).toBe(5);
  });

  test('drops Events while too many wait for an API server that does not answer', async () => {
    const gate = Promise.withResolvers<void>();
    const { recorder, asked, dropped } = await setUp((...given) => gate.promise.then(() => json(object())(...given)));
    for (let second = 0; second < 60; second++) {
      for (let times = 0; times < 5; times++) recorder.record(object(), created);
      vi.advanceTimersByTime(1_000);
    }
    expect([await dropped('rate'), await dropped('backlog')]).toEqual([0, 100]);
    gate.resolve();
    await recorder.flush();
    expect(asked().length).toBe(200);
  });

  test('drops Events above a rate, separately for warnings and others', async () => {
    const { recorder, asked, dropped } = await setUp();
    const record = (times: number, event: KubeEvent) => {
      for (let time = 0; time < times; time++) recorder.record(object(), event);
    };
    record(60, created);
    expect(await dropped('rate')).toBe(10);
    record(51, refused);
    expect(await dropped('rate')).toBe(11);
    vi.advanceTimersByTime(1_000);
    record(6, created);
    expect(await dropped('rate')).toBe(12);
    await recorder.flush();
    expect(asked().length).toBe(105);
  });
});
