/** The API or the operator, which can be restarted with the same settings and port. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Child } from '../dev/processes/child-process.ts';
import { type ProgramOptions, startProgram, untilAnswering } from '../dev/processes/program.ts';

export interface ServiceOptions extends Omit<ProgramOptions, 'name'> {
  readonly url: string;
  /** A path that responds with success when the program is ready. */
  readonly probe: string;
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
    this.#child = startProgram([this.#name], { name: this.#name, ...this.#options });
    await untilAnswering(this.#child, `${this.url}${this.#options.probe}`);
  }

  async stop(): Promise<void> {
    await this.#child?.stop({ graceMs: 15_000 });
  }
}
