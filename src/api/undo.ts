/** The steps that stop what a start has started, also one that fails half-way. */
export interface Undo {
  add(step: () => Promise<unknown>): void;
  /** Runs the steps, the last one first, each once. */
  run(): Promise<void>;
}

export function createUndo(): Undo {
  const steps: (() => Promise<unknown>)[] = [];
  return {
    add: (step) => void steps.push(step),
    async run() {
      for (let step = steps.pop(); step; step = steps.pop()) await step();
    },
  };
}
