/** Everything that can happen to an object, as fast-check commands. The promise itself is the only model. */
import fc from 'fast-check';
import { ANNOTATION } from '../../../src/operator/contract/names.ts';
import type { Life } from './life.ts';
import { FATES, type Fault } from './wire.ts';

type Model = Record<never, never>;
type Command = fc.AsyncCommand<Model, Life>;

class Happening implements Command {
  readonly #what: string;
  readonly #act: (life: Life) => Promise<unknown>;

  constructor(what: string, act: (life: Life) => Promise<unknown>) {
    this.#what = what;
    this.#act = act;
  }

  check(): boolean {
    return true;
  }

  async run(_: Model, life: Life): Promise<void> {
    life.world.count(this.#what.replace(/:.*/, ''));
    await this.#act(life);
  }

  toString(): string {
    return this.#what;
  }
}

const always = (what: string, act: (life: Life) => Promise<unknown>) => fc.constant(new Happening(what, act));

const fault = fc.record({ at: fc.nat({ max: 9 }), fate: fc.constantFrom(...FATES) });
const faults = fc.array(fault, { maxLength: 3 });
const told = (some: readonly Fault[]) => some.map(({ at, fate }) => `${fate} ${at}`).join(', ');
const reconcile = fc.tuple(faults, fc.boolean(), fc.boolean()).map(([some, first, second]) => {
  const isLate = first && second;
  return new Happening(`reconcile${isLate ? ' unaware' : ''}: ${told(some)}`, (life) => life.reconcile(some, isLate));
});
const together = faults.map(
  (some) => new Happening(`two reconcile: ${told(some)}`, (life) => life.reconcileTogether(some)),
);

const arrival = fc.nat({ max: 9 }).map((which) => new Happening(`arrive: ${which}`, (life) => life.arrive(which)));

/** Edits of the annotations that belong to the operator. */
const edits: readonly Record<string, string | null>[] = [
  { [ANNOTATION.externalId]: null },
  { [ANNOTATION.createGeneration]: null },
  { [ANNOTATION.createGeneration]: '1' },
  { [ANNOTATION.createGeneration]: '7' },
  { [ANNOTATION.createGeneration]: '3', [ANNOTATION.createKey]: 'edited' },
  { [ANNOTATION.createKey]: null },
  { [ANNOTATION.retiring]: null },
  { [ANNOTATION.createGeneration]: null, [ANNOTATION.createKey]: null, [ANNOTATION.retiring]: null },
  { [ANNOTATION.externalId]: null, [ANNOTATION.createKey]: null, [ANNOTATION.retiring]: null },
];
const annotationEdit = fc
  .constantFrom(...edits)
  .map((edit) => new Happening(`edit annotations: ${JSON.stringify(edit)}`, (life) => life.annotate(edit)));

let rotations = 0;
const rotate = (life: Life) => life.annotate({ [ANNOTATION.rotateRequestedAt]: String(rotations++) });

async function wipeBoth(life: Life): Promise<void> {
  await life.wipeAnnotations();
  await life.wipeStatus();
}

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 10, arbitrary: reconcile },
  { weight: 2, arbitrary: together },
  { weight: 3, arbitrary: always('rotate', rotate) },
  { weight: 2, arbitrary: arrival },
  { weight: 2, arbitrary: always('replace', (life) => life.replace()) },
  { weight: 2, arbitrary: always('wipe both', wipeBoth) },
  { weight: 1, arbitrary: always('wipe annotations', (life) => life.wipeAnnotations()) },
  { weight: 1, arbitrary: always('wipe status', (life) => life.wipeStatus()) },
  { weight: 1, arbitrary: annotationEdit },
  { weight: 1, arbitrary: always('edit', (life) => life.edit()) },
  { weight: 1, arbitrary: always('observe', (life) => life.observe()) },
  { weight: 1, arbitrary: always('manage', (life) => life.manage()) },
  { weight: 1, arbitrary: always('remove finalizer', (life) => life.removeFinalizer()) },
  { weight: 1, arbitrary: always('delete Secret', (life) => life.deleteSecret()) },
  { weight: 1, arbitrary: always('delete in the API', (life) => life.deleteInTheApi()) },
  { weight: 1, arbitrary: always('delete', (life) => life.remove()) },
  { weight: 1, arbitrary: always('create', (life) => life.create()) },
);

export const lives = fc.commands([command], { maxCommands: 40, size: '+1' });
/** How a life ends: suddenly or when everything is as declared, and the faults of the reconcile after the deletion. */
export interface Ending {
  readonly policy: 'Delete' | 'Retain';
  readonly isSudden: boolean;
  readonly faults: readonly Fault[];
}
export const endings: fc.Arbitrary<Ending> = fc.record({
  policy: fc.constantFrom('Delete', 'Retain'),
  isSudden: fc.boolean(),
  faults,
});
export const overlaps = fc.constantFrom('0s', '20ms');
