/** What `ensureBinaries` is doing. */
export interface Progress {
  readonly step: 'download' | 'build' | 'wait';
  /** The binaries in question. */
  readonly names: readonly string[];
  /** Since the step started. */
  readonly elapsedSeconds: number;
  /** E.g. `12 of 97 MB`. */
  readonly detail: string;
}

const VERBS = { download: 'fetching', build: 'building', wait: 'waiting for' } as const;

/** E.g. `building kube-apiserver: 812 packages compiled, 95 s`. */
export function formatProgress({ step, names, elapsedSeconds, detail }: Progress): string {
  const state = [detail, `${Math.round(elapsedSeconds)} s`].filter((part) => part !== '').join(', ');
  return `${VERBS[step]} ${names.join(', ')}: ${state}`;
}

/** Reports a step at once and then every 5 s until `done`, each time with the newest detail. */
export function trackProgress(
  report: (progress: Progress) => void,
  step: Progress['step'],
  names: readonly string[],
  detail = '',
): { update(detail: string): void; done(): void } {
  const startedAt = performance.now();
  let current = detail;
  const send = () => report({ step, names, elapsedSeconds: (performance.now() - startedAt) / 1000, detail: current });
  send();
  const timer = setInterval(send, 5000);
  return {
    update: (next) => {
      current = next;
    },
    done: () => clearInterval(timer),
  };
}
