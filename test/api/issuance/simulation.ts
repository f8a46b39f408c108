/** Jobs under a clock that tests move, with an authority that exists only here: Pebble's clock cannot be moved. */

import { makeCertificate } from '../../../dev/fixtures/x509.ts';
import type { AcmeClient, Order, RenewalWindow } from '../../../src/acme/client.ts';
import { AcmeError } from '../../../src/acme/errors.ts';
import { generateAccountKey, readAccountKey } from '../../../src/acme/jose.ts';
import type { Job } from '../../../src/api/issuance/jobs.ts';
import { afterIssue, type PresentCertificate, validityOf } from '../../../src/api/issuance/renewal.ts';
import { type StepContext, takeStep } from '../../../src/api/issuance/step.ts';
import { NOT_STARTED } from '../../../src/resources/reserved-domain.ts';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

export interface SimulationOptions {
  /** Of the certificates, in milliseconds. */
  lifetime?: number;
  /** How long ago a new certificate begins. */
  backdated?: number;
  /** What the authority says about renewing a certificate. */
  window?: (certificate: PresentCertificate, now: Date) => RenewalWindow | undefined;
  /** Called before each request to the authority, by the name of the method; may throw. */
  before?: (request: keyof AcmeClient, simulation: Simulation) => void;
  /** The authority never finishes an order. */
  stuck?: { retryAfterMs: number | null };
  /** Names in the certificates, instead of the domain. */
  names?: string[];
  context?: Partial<StepContext>;
}

export interface Simulation {
  now: Date;
  job: Job;
  present: PresentCertificate | undefined;
  /** When which request was made. */
  readonly requests: { at: Date; request: keyof AcmeClient; replaces?: string | undefined }[];
  /** Takes the next step, at the time when it is due. */
  step(): Promise<void>;
  /** Takes all steps that are due until then, and moves the clock there. */
  until(end: Date): Promise<void>;
  /** The times of the requests of one kind. */
  at(request: keyof AcmeClient): Date[];
}

export function simulate({
  lifetime = 90 * DAY,
  backdated = HOUR,
  window,
  before,
  stuck,
  names,
  context,
}: SimulationOptions = {}): Simulation {
  const account = { key: readAccountKey(generateAccountKey()), url: 'https://ca.example/account/1' };
  const HERE = 'https://ca.example/new';
  const URL_OF_ORDER = 'https://ca.example/order/1';
  let status = 'pending';
  let dueAt = new Date('2026-01-01T00:00:00Z');

  const order = (): Order => ({
    ...{ url: URL_OF_ORDER, status, authorizations: ['https://ca.example/authorization/1'] },
    ...{ certificate: 'https://ca.example/certificate/1', finalize: 'https://ca.example/finalize/1' },
    ...{ error: undefined, retryAfterMs: stuck?.retryAfterMs ?? null },
  });
  const ask = (request: keyof AcmeClient, replaces?: string) => {
    simulation.requests.push({ at: simulation.now, request, replaces });
    before?.(request, simulation);
  };
  const client: AcmeClient = {
    directory: async () => ({ newNonce: HERE, newAccount: HERE, newOrder: HERE, meta: {} }),
    register: () => Promise.reject(new Error('not asked for')),
    async newOrder(_, { replaces }) {
      ask('newOrder', replaces);
      status = 'pending';
      return order();
    },
    async order() {
      ask('order');
      return order();
    },
    async authorization() {
      ask('authorization');
      const challenge = { type: 'http-01', url: 'https://ca.example/challenge/1', status: 'pending', token: 'token' };
      return { status, identifier: { type: 'dns', value: 'a.example' }, challenges: [challenge] };
    },
    async answer() {
      ask('answer');
      status = stuck ? 'processing' : 'ready';
    },
    async finalize() {
      ask('finalize');
      status = 'valid';
      return order();
    },
    async download() {
      ask('download');
      const notBefore = new Date(simulation.now.getTime() - backdated);
      const notAfter = new Date(notBefore.getTime() + lifetime);
      const made = await makeCertificate({
        names: (names ?? [simulation.job.domain]).map((value) => ({ type: 'dns', value })),
        notBefore,
        notAfter,
        authorityKey: '01020304',
        serialNumber: serial(),
      });
      return made.pem;
    },
    async renewalWindow() {
      ask('renewalWindow');
      return simulation.present && window?.(simulation.present, simulation.now);
    },
    close: async () => undefined,
  };
  const steps: StepContext = {
    authority: {
      client,
      directoryUrl: 'https://ca.example/directory',
      account: async () => account,
      forgetAccount: async () => undefined,
      reserveOrder: async (now) => now,
    },
    ...{ profile: undefined, selfCheck: undefined, answersDns: true },
    wantedRecord: () => undefined,
    storeChallenge: async () => false,
    noteAnswered: async () => undefined,
    present: async () => simulation.present,
    ...context,
  };
  const simulation: Simulation = {
    now: dueAt,
    job: {
      ...{
        domainId: 'rd_1',
        domain: 'a.example',
        account: 'acc_1',
        policy: { authority: 'ca', private_key_type: 'ecdsa' },
      },
      ...{ certificateId: null, cnameTarget: null, issuedAt: null },
      ...{
        refusals: 0,
        failures: 0,
        orderedAt: null,
        orderAt: null,
        orderUrl: null,
        privateKey: null,
        renewal: null,
        status: NOT_STARTED,
      },
    },
    present: undefined,
    requests: [],
    async step() {
      const { job } = simulation;
      simulation.now = new Date(Math.max(simulation.now.getTime(), dueAt.getTime()));
      const taken = await takeStep(steps, job, simulation.now);
      if (taken.kind === 'issued') {
        simulation.present = { pem: taken.chain, issuedAt: simulation.now, ...validityOf(taken.chain) };
        simulation.job = {
          ...job,
          ...afterIssue(taken.chain, simulation.now, job.orderedAt),
          issuedAt: simulation.now,
        };
        dueAt = simulation.now;
      } else {
        simulation.job = { ...job, ...taken.progress };
        dueAt = taken.progress.dueAt;
      }
    },
    async until(end) {
      while (dueAt <= end) await simulation.step();
      simulation.now = end;
    },
    at: (asked) => simulation.requests.flatMap(({ at, request }) => (request === asked ? [at] : [])),
  };
  return simulation;
}

let serials = 0;
const serial = () => (0x1000 + ++serials).toString(16);

/** An error of the authority. */
export const acmeError = (type: string | null, status: number | null, retryAfterMs: number | null = null) =>
  new AcmeError({ type, status, detail: 'the authority says so', subproblems: [], retryAfterMs });
