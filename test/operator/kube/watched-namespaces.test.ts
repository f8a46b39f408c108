/** Namespaces that a cache may not list, and that come back. */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, test, vi } from 'vitest';
import { createKubeMetrics } from '../../../src/operator/kube/metrics.ts';
import { NamespacePresence } from '../../../src/operator/kube/namespace-presence.ts';
import { object } from '../objects.ts';
import { type Answer, answering, hanging, json, refusal } from './answering.ts';
import { page, setUp } from './watch-cache-under-test.ts';

describe('a namespace that may not be listed', () => {
  const says = 'namespace ns is being deleted, and the operator has no rights there; its objects wait until it has';

  test('is skipped while it is being deleted, and its objects are known again once it may be listed', async () => {
    const metadata = { namespace: undefined, deletionTimestamp: '2026-11-21T10:00:00Z' };
    const leaving = json(object({ name: 'ns', metadata }));
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line).msg) });
    const presence = new NamespacePresence((await answering(leaving)).connect(), {
      log,
      metrics: createKubeMetrics(new Registry(), 'tests'),
    });
    let mayList = false;
    const later: Answer = (response, asked) => {
      const granted = asked.line.includes('watch=') ? hanging() : page(9, [object()]);
      return (mayList ? granted : refusal(403))(response, asked);
    };
    const { cache, changes } = await setUp([page(5, [object()]), refusal(403), later], {
      namespaces: ['ns'],
      presence,
    });
    await cache.start();
    await vi.waitFor(() => expect(presence.skipped).toEqual([says]));
    await expect(cache.catchUp('ns')).rejects.toMatchObject({ code: 403 });
    expect([cache.gapIn('ns'), cache.obstacle(), cache.staleness(), cache.store.size]).toEqual([says, undefined, 0, 1]);
    mayList = true;
    await vi.waitFor(() => expect(cache.gapIn('ns')).toBeUndefined(), 10_000);
    expect(presence.skipped).toEqual([]);
    expect([changes, lines]).toEqual([['watch: added a 1'], [says, 'namespace ns is watched again']]);
  });
});
