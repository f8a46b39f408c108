/**
 * npm run demo [-- --once] [-- --kubeconfig FILE]
 *
 * The whole path on this machine: PostgreSQL, the API, a Kubernetes control plane, the operator, the examples. It stays
 * until Ctrl-C; `--once` ends when everything was seen to work, `--kubeconfig` uses a cluster that is there.
 */
import { parseArgs } from 'node:util';
import { Listr, PRESET_TIMER } from 'listr2';
import { BinaryUnavailable } from '../dev/control-plane/binaries.ts';
import { Demo } from './demo-stack.ts';

const USAGE = 'usage: npm run demo [-- [--once] [--kubeconfig FILE]]';

async function main(): Promise<number> {
  const { once, kubeconfig } = readArguments();
  const demo = new Demo({ kubeconfig });
  let interrupted = false;
  const untilInterrupted = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        interrupted = true;
        resolve();
      });
    }
  });
  // A terminal that was closed must not keep us from taking everything back.
  process.stdout.on('error', () => {});
  try {
    await Promise.race([tasks(demo).run(), untilInterrupted]);
    if (!interrupted) {
      print(await demo.summary());
      if (!once) {
        print('It goes on running; Ctrl-C ends it and removes everything.');
        await untilInterrupted;
      }
    }
  } catch (error) {
    // What fails because it was interrupted is no news.
    if (!interrupted) {
      print(error instanceof Error ? error.message : String(error));
      print(`The logs: ${demo.logFile}`);
      return 1;
    }
  } finally {
    print('Stopping …');
    await demo.stop();
  }
  return interrupted && once ? 130 : 0;
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
  const timer = { ...PRESET_TIMER, condition: () => true };
  return new Listr(
    [
      step('PostgreSQL and the management API', () => demo.startApi()),
      step(demo.isOwnCluster ? 'Kubernetes control plane' : 'Kubernetes cluster', async (report) => {
        try {
          await demo.startCluster(report);
        } catch (error) {
          if (!(error instanceof BinaryUnavailable)) throw error;
          report(`${error.message} Going on with the API alone.`);
        }
      }),
      step('CustomResourceDefinitions', () => demo.installCrds(), needsCluster),
      step('Operator', () => demo.startOperator(), needsCluster),
      step('kubectl apply -f examples/', () => demo.applyExamples(), needsCluster),
      step('Every object Ready', () => demo.waitUntilReady(), needsCluster),
      step('Every token in a Secret authenticates', () => demo.proveTokens(), needsCluster),
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

function readArguments(): { once: boolean; kubeconfig: string | undefined } {
  try {
    const { values } = parseArgs({ options: { once: { type: 'boolean' }, kubeconfig: { type: 'string' } } });
    return { once: values.once ?? false, kubeconfig: values.kubeconfig };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n${USAGE}\n`);
    process.exit(2);
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exit(await main());
