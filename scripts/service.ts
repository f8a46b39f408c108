/** The API or the operator, which can be restarted with the same settings and port. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Child } from '../dev/processes/child-process.ts';
import { type ProgramOptions, startProgram, untilAnswering } from '../dev/processes/program.ts';

export interface ServiceOptions extends Omit<ProgramOptions, 'name'> {
  readonly url: string;
  /** A path that responds with success when the program is ready. */
  readonly probe: string;
  /** Called when it ends although nobody has stopped it, with how: `signal SIGKILL`. */
  readonly onLoss: (how: string) => void;
}

export class Service {
  readonly url: string;
  readonly #name: 'api' | 'operator';
  readonly #options: ServiceOptions;
  #child: Child | undefined;

  constructor(name: 'api' | 'operator', options: ServiceOptions) {
    this.url = options.url;
    this.#name = name;
    this.#options = options;
  }

  /** Starts with an empty log; returns when ready. Throws with the end of the log if the program exits instead. */
  async start(): Promise<void> {
    await rm(join(this.#options.folder, `${this.#name}.log`), { force: true });
    await this.restart();
  }

  async restart(): Promise<void> {
    await this.stop();
    const child = startProgram([this.#name], { name: this.#name, ...this.#options });
    this.#child = child;
    await untilAnswering(child, `${this.url}${this.#options.probe}`);
    void child.exited.then(({ code, signal }) => {
      if (this.#child === child) this.#options.onLoss(signal === null ? `code ${code}` : `signal ${signal}`);
    });
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    await child?.stop({ graceMs: 15_000 });
  }

  /** Undefined unless it is running, or has ended by itself. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }
}
