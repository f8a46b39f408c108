/**
 * npm run demo [-- --once] [-- --kubeconfig FILE]
 * npm run dev [-- --kubeconfig FILE]
 *
 * Runs everything on this machine: PostgreSQL, the API, a Kubernetes control plane, the operator, the examples. It
 * keeps running until Ctrl-C; `--once` exits once everything has been shown to work, `--kubeconfig` uses an existing
 * cluster. `npm run dev` is the same with `--watch`: the API and the operator restart when their source changes.
 */
import { parseArgs } from 'node:util';
import { Listr, PRESET_TIMER } from 'listr2';
import { BinaryUnavailable } from '../dev/control-plane/binaries.ts';
import { Demo } from './demo-stack.ts';

const USAGE = 'usage: npm run demo [-- [--once] [--kubeconfig FILE]] or npm run dev [-- --kubeconfig FILE]';
const WATCHES = `The API and the operator restart when a file changes that they have loaded; their logs say so.
After a change of a kind: npm run generate && kubectl apply -k crds/
`;

async function main(): Promise<number> {
  const { once, watch, kubeconfig } = readArguments();
  const demo = new Demo({ kubeconfig, watch, onLoss: print });
  const interruption = new AbortController();
  const untilInterrupted = new Promise<void>((resolve) => {
    interruption.signal.addEventListener('abort', () => resolve());
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interruption.abort());
  const isInterrupted = () => interruption.signal.aborted;
  // Keeps this process alive: child processes and signal handlers do not.
  const alive = setInterval(() => {}, 60_000);
  // A closed terminal must not keep the demo from cleaning up.
  process.stdout.on('error', () => {});
  try {
    await Promise.race([tasks(demo).run(), untilInterrupted]);
    if (!isInterrupted()) {
      print(await demo.summary());
      if (!once) {
        print('It keeps running; Ctrl-C stops it and removes everything.');
        demo.printEvents(print);
        if (watch) print(WATCHES);
        await untilInterrupted;
      }
    }
  } catch (error) {
    // A failure caused by the interruption is not worth reporting.
    if (!isInterrupted()) {
      print(error instanceof Error ? error.message : String(error));
      print(`The logs: ${demo.logFolder}`);
      return 1;
    }
  } finally {
    print('Stopping …');
    await demo.stop();
    clearInterval(alive);
  }
  return isInterrupted() && once ? 130 : 0;
}

function tasks(demo: Demo) {
  const step = (
    title: string,
    task: (report: (line: string) => void) => Promise<void>,
    skip?: () => string | false,
  ) => ({
    title,
    ...(skip ? { skip } : {}),
    task: (_: unknown, self: { output: string }) =>
      task((line) => {
        self.output = line;
      }),
    rendererOptions: { persistentOutput: false },
  });
  const needsCluster = () => (demo.hasCluster ? false : 'needs a cluster');
  const needsAll = () => needsCluster() || (demo.isOwnCluster ? false : 'needs a cluster of its own');
  const needsBoth = () => needsCluster() || (demo.hasAuthority ? false : 'needs a certificate authority');
  const timer = { ...PRESET_TIMER, condition: () => true };
  return new Listr(
    [
      step('Certificate authority', async (report) => {
        try {
          await demo.startAuthority(report);
        } catch (error) {
          if (!(error instanceof BinaryUnavailable)) throw error;
          report(`${error.message} Continuing without certificates.`);
        }
      }),
      step('PostgreSQL and the management API', () => demo.startApi()),
      step(demo.isOwnCluster ? 'Kubernetes control plane' : 'Kubernetes cluster', async (report) => {
        try {
          await demo.startCluster(report);
        } catch (error) {
          if (!(error instanceof BinaryUnavailable)) throw error;
          report(`${error.message} Continuing with the API alone.`);
        }
      }),
      step('CustomResourceDefinitions', () => demo.installCrds(), needsCluster),
      step('Operator', () => demo.startOperator(), needsCluster),
      step('kubectl apply -f examples/', () => demo.applyExamples(), needsCluster),
      step('Every object Ready', () => demo.waitUntilReady(), needsCluster),
      step('Every token in a Secret authenticates', () => demo.proveTokens(), needsCluster),
      step('Two teams, neither of which sees the other', () => demo.proveTeams(), needsAll),
      step('A change arrives at a receiver, signed', () => demo.proveDelivery(), needsCluster),
      step('A domain has a certificate', () => demo.proveCertificate(), needsBoth),
    ],
    {
      concurrent: false,
      rendererOptions: {
        timer,
        showSkipMessage: true,
        collapseSubtasks: false,
      },
      fallbackRenderer: 'simple',
      fallbackRendererOptions: { timer },
      registerSignalListeners: false,
    },
  );
}

function readArguments(): { once: boolean; watch: boolean; kubeconfig: string | undefined } {
  try {
    const { values } = parseArgs({
      options: { once: { type: 'boolean' }, watch: { type: 'boolean' }, kubeconfig: { type: 'string' } },
    });
    const { once = false, watch = false, kubeconfig } = values;
    if (once && watch) throw new Error('--once and --watch cannot be combined');
    // Like kubectl, the demo would otherwise silently use the current cluster.
    if (kubeconfig === '') throw new Error('--kubeconfig must name a file');
    return { once, watch, kubeconfig };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n${USAGE}\n`);
    process.exit(2);
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exit(await main());
