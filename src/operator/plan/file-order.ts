/** Runs one step of planning in the order of the files for each kind, while the other steps overlap. */

export interface Turn {
  /** Resolves when all objects of the kind that come earlier have taken the step, or will not take it. */
  readonly comes: Promise<void>;
  end(): void;
}

export class FileOrder {
  readonly #lastOf = new Map<string, Promise<void>>();

  /** To be called in the order of the files. Every turn has to end. */
  enter(kind: string): Turn {
    const comes = this.#lastOf.get(kind) ?? Promise.resolve();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#lastOf.set(
      kind,
      comes.then(() => ended),
    );
    return { comes, end };
  }
}
