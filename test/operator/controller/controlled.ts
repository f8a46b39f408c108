/** Controllers of single kinds, on the real API server and a real management API. Only for test files. */
import { pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import { Controller } from '../../../src/operator/controller/controller.ts';
import { attachedKinds, kinds } from '../../../src/operator/kinds/kinds.ts';
import { EventRecorder } from '../../../src/operator/kube/event-recorder.ts';
import { KubeApi } from '../../../src/operator/kube/kube-api.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import type { Inputs } from '../../../src/operator/managed/knowledge/inputs.ts';
import { ConnectedKind } from '../../../src/operator/managed/object/connected-kind.ts';
import { DnsEndpoints } from '../../../src/operator/managed/object/dns-endpoint.ts';
import { SecretAccess } from '../../../src/operator/managed/secrets/secret-access.ts';
import { SecretCache } from '../../../src/operator/managed/secrets/secret-cache.ts';
import { createMetrics } from '../../../src/operator/metrics.ts';
import type { Tracing } from '../../../src/tracing/tracing.ts';
import { eventually, type Stack } from '../../e2e/stack.ts';
import { kubeconfig } from '../../harness.ts';
import { noInputs } from '../inputs.ts';

const config = await kubeconfig();

interface Circumstances {
  /** Instead of its own: what the API server is asked for. */
  plural?: string;
  /** Those that it shares with other controllers. */
  inputs?: Inputs;
  /** Whether its cache is filled already. */
  isFilled?: boolean;
  /** Whether it works on the object; on all, by default. */
  isOurs?: (object: KubeObject) => boolean;
  tracing?: Tracing;
}

/** A controller of the kind, whose caches are filled, if that is possible. */
export async function control(
  { namespace, client }: Pick<Stack, 'namespace' | 'client'>,
  name: string,
  { plural, inputs = noInputs(), isFilled = true, isOurs = () => true, tracing }: Circumstances = {},
) {
  const lines: { msg: string; object?: string }[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const metrics = createMetrics();
  const silenceMs = 60_000;
  const kube = new KubeApi(config, { userAgent: 'tests', timeoutMs: 10_000 });
  const secrets = new SecretCache(kube, { namespaces: [namespace], silenceMs, log, metrics: metrics.kube });
  const declared = [...kinds, ...attachedKinds].find(({ kind }) => kind === name);
  if (declared === undefined) throw new Error(`no kind is called ${name}`);
  const kind = new ConnectedKind(
    { ...declared, plural: plural ?? declared.plural },
    client,
    new SecretAccess(kube, secrets, () => true),
    inputs,
  );
  const eventRecorder = new EventRecorder(kube, { component: 'tests', instance: 'tests', log, metrics: metrics.kube });
  const controller = new Controller(kind, {
    kube,
    eventRecorder,
    secrets,
    dnsEndpoints: new DnsEndpoints(kube, { namespaces: [namespace], silenceMs, log, metrics: metrics.kube }),
    namespaces: [namespace],
    isOurs,
    concurrency: 3,
    resyncMs: 3_600_000,
    silenceMs,
    mayAdopt: () => true,
    mayHandOutUserRights: true,
    metrics,
    tracing,
    log,
  });
  const stop = async () => {
    await controller.stop();
    await Promise.all([controller.cache.stop(), secrets.watch.stop(), eventRecorder.flush()]);
    await kube.close();
  };
  onTestFinished(stop);
  const fill = () => Promise.all([controller.cache.start(), secrets.watch.start()]);
  if (isFilled) await fill();
  /** The value of a metric with all these labels. */
  const metric = async (metricName: string, labels: Record<string, string>) => {
    controller.readGauges();
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    const line = (await metrics.registry.metrics())
      .split('\n')
      .find((each) => each.startsWith(`${metricName}{`) && wanted.every((label) => each.includes(label)));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  };
  const reconciles = () => metric('controller_runtime_reconcile_total', { controller: name, result: 'success' });
  const compared = () =>
    eventually(async () => {
      expect(await metric('tunnel_operator_resyncs_total', { kind: name, result: 'success' })).toBe(1);
    });
  const reconciled = () => new Set(lines.filter(({ msg }) => msg === 'reconciled').map(({ object }) => object));
  return { controller, fill, stop, metric, reconciles, compared, reconciled };
}
