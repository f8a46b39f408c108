/** The API as its users run it: a process of its own, which can be killed and restarted on the same port. */
import { rm } from 'node:fs/promises';
import type { Child } from '../../../dev/processes/child-process.ts';
import { startProgram, untilAnswering } from '../../../dev/processes/program.ts';
import { type Client, createClient } from '../../../src/client/client.ts';
import { freePort } from '../../../src/postgres/ports.ts';
import { checkNothingIsOverdueAtEnd } from '../events/overdue.ts';

/** The start of every `uri` member, whichever process responds. */
export const BASE_URL = 'https://tunnels.test';

export interface ProcessSettings {
  /** Where its log is. */
  readonly folder: string;
  /** Unique in the folder. */
  readonly name: string;
  readonly databaseUrl: string;
  readonly apiKey: string;
  /** More environment variables; they win over ours. */
  readonly env?: Readonly<Record<string, string>>;
  /** Limit on its open files and sockets. */
  readonly descriptors?: number;
}

/** Runs one of the programs that work on a database. */
export function startOnDatabase(
  args: readonly string[],
  { folder, name, databaseUrl, apiKey, env, descriptors }: ProcessSettings,
): Child {
  return startProgram(args, {
    name,
    folder,
    descriptors,
    env: {
      LOG_FORMAT: 'json',
      DATABASE_URL: databaseUrl,
      BOOTSTRAP_API_KEY: apiKey,
      ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      BASE_URL,
      ...env,
    },
  });
}

export class ApiProcess {
  readonly client: Client;
  readonly #settings: ProcessSettings;
  readonly #port: number;
  #child: Child | undefined;
  #kills = 0;
  #isServing = false;

  private constructor(settings: ProcessSettings, port: number) {
    this.#settings = settings;
    this.#port = port;
    // The server times out first: only a call that hangs reaches this timeout.
    const calls = { retries: 0, timeoutMs: 60_000, connections: 32 };
    this.client = createClient({ baseUrl: this.url, apiKey: settings.apiKey, ...calls });
  }

  static async start(settings: ProcessSettings): Promise<ApiProcess> {
    const port = await freePort();
    const api = new ApiProcess(settings, port);
    await api.start();
    checkNothingIsOverdueAtEnd(settings.databaseUrl, () => api.isServing);
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get child(): Child {
    if (!this.#child) throw new Error('it has not been started');
    return this.#child;
  }

  get pid(): number {
    return this.child.pid;
  }

  /** True from when it is ready until it is killed. */
  get isServing(): boolean {
    return this.#isServing;
  }

  /** How often it has been killed. If this is the same before and after a call, one process handled the call. */
  get kills(): number {
    return this.#kills;
  }

  /** Returns when it is ready. */
  async start(): Promise<void> {
    const child = startOnDatabase(['api', '--port', String(this.#port)], this.#settings);
    this.#child = child;
    await untilAnswering(child, `${this.url}/readyz`);
    this.#isServing = true;
  }

  /** Sends SIGKILL; returns when the process has exited. */
  async kill(): Promise<void> {
    this.#kills++;
    this.#isServing = false;
    await this.#child?.stop({ signal: 'SIGKILL' });
  }

  /** Sends SIGSTOP: the process keeps its connections but does nothing. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    this.#isServing = false;
    await this.client.destroy();
    await this.#child?.stop();
  }
}

/** For `atEnd`. */
export function removeFolder(folder: string): () => Promise<void> {
  return () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
