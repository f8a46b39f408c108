/** Series of edits to objects, to compare the plan of each with what it changes in the API. Only for test files. */
import fc from 'fast-check';
import { asRecord } from '../../dev/fixtures/crd-schema.ts';
import { type Declaration, type KindRow, kindRows } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { fromSecret } from '../../dev/fixtures/source-texts.ts';
import { type ModulesRow, modulesRows } from '../../dev/fixtures/story-rows.ts';
import { ApiError } from '../../src/client/errors.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { ofKind, ofModules, type Subject } from './plan-subjects.ts';
import { API_KEY, type Stack } from './stack.ts';
import { type State, type Walkable, walkableModules } from './walkable.ts';

export interface Edit extends Pick<Declaration, 'spec' | 'objects'> {
  annotations?: Record<string, string>;
  /** A change made directly in the API before the plan. */
  meanwhile?(id: string): Promise<unknown>;
}

/** One object and its series of edits. */
export interface Life {
  readonly row: Pick<KindRow, 'name' | 'type'>;
  readonly name: string;
  readonly subject: Subject;
  readonly edits: readonly Edit[];
}

const paused = { [ANNOTATION.paused]: 'true' };
const resumed = { [ANNOTATION.paused]: 'false' };
const rotate = { [ANNOTATION.rotateRequestedAt]: 'today' };
const rotateAgain = { [ANNOTATION.rotateRequestedAt]: 'tomorrow' };

const but = ({ spec, objects }: Edit, policies: Record<string, string>): Edit => ({
  spec: { ...spec, ...policies },
  objects,
});

interface LivesOptions {
  /** Whether each kind has an object for every series of edits, or for one series, taken in turn. */
  which: 'every' | 'in turn';
  /** The seed of the random edits. */
  seed: number;
}

export async function livesOfEveryKind(stack: Stack, { which, seed }: LivesOptions): Promise<Life[]> {
  const { client } = stack;
  const post = postTo(stack.api.url, API_KEY);
  const lives = await Promise.all([
    ...kindRows.map(livesOf),
    ...modulesRows.map((row, at) => livesOfModules(row, kindRows.length + at)),
  ]);
  return lives.flat();

  async function livesOf(row: KindRow, at: number): Promise<Life[]> {
    const calls = row.kind.calls(client);
    const names = ['edited', 'moved', 'adopting', ...(row.hasSources ? ['sourced'] : [])];
    // Kinds that hand out a value have more to plan, so they get two series.
    const inTurn = [at, ...(row.kind.delivery ? [at + 1] : [])].map((index) => index % names.length);
    const lived = which === 'every' ? names : names.filter((_, index) => inTurn.includes(index));
    return Promise.all(
      lived.map(async (life) => {
        const number = 1 + at * 10 + names.indexOf(life);
        const declared = await row.declare(post, number, life === 'sourced' ? fromSecret : undefined);
        const subject = ofKind(row.kind, client);
        return { row, name: `${row.type.plural}-${life}`, subject, edits: await editsOf(life, declared) };
      }),
    );

    async function editsOf(life: string, declared: Awaited<ReturnType<KindRow['declare']>>): Promise<Edit[]> {
      const { least, another, changed, steps, drift } = declared;
      const [grown = least, grownAndChanged = least] = steps;
      if (life === 'sourced') return [another, changed, changed, another];
      if (life === 'edited') {
        return [
          least,
          { ...but(grown, { deletionPolicy: 'Retain' }), annotations: rotate },
          grown,
          { ...grownAndChanged, annotations: paused },
          { ...grownAndChanged, meanwhile: (id) => calls.update(id, drift) },
        ];
      }
      if (life === 'moved') {
        return [
          another,
          { ...another, annotations: rotate },
          but(changed, { managementPolicy: 'Observe' }),
          changed,
          { ...another, annotations: rotateAgain, meanwhile: (id) => calls.delete(id) },
        ];
      }
      const adopt = { [ANNOTATION.adopt]: (await calls.create(another.body)).id };
      return [
        { ...but(changed, { managementPolicy: 'Observe' }), annotations: adopt },
        { ...changed, annotations: { ...adopt, ...rotate } },
        changed,
        { ...another, annotations: paused },
        { ...another, annotations: resumed },
      ];
    }
  }

  async function livesOfModules(row: ModulesRow, at: number): Promise<Life[]> {
    const { attached: kind } = row;
    const series: Record<string, (number: number, name: string) => Promise<Edit[]>> = {
      /** From each list of modules to the next. */
      async listed(number) {
        const { lists = {}, least } = await row.declare(post, number);
        return [...Object.values(lists), least];
      },
      async edited(number) {
        const { least, another, changed, ownerId } = await row.declare(post, number);
        return [
          but(least, { deletionPolicy: 'Retain' }),
          { ...another, annotations: paused },
          { ...changed, annotations: resumed },
          { ...changed, meanwhile: () => kind.external(client).delete(ownerId) },
          another,
        ];
      },
      async drifting(number) {
        const { whole, drifts, ownerId } = await row.declare(post, number);
        const chosen = which === 'every' ? drifts : drifts.filter((_, index) => index % 5 === 0);
        const drifted = chosen.map(({ module: { name, calls }, body }) => ({
          ...whole,
          meanwhile: () => calls(client, ownerId).put({ ...asRecord(whole.body[name]), ...body }),
        }));
        return [whole, ...drifted];
      },
      async moved(number) {
        const [here, there] = [await row.declare(post, number), await row.declare(post, number + 9)];
        return [
          here.another,
          there.another,
          but(there.changed, { managementPolicy: 'Observe' }),
          here.changed,
          { ...there.least, annotations: paused },
          { ...there.least, annotations: resumed },
        ];
      },
      async adopting(number) {
        const { whole, another, changed, ownerId } = await row.declare(post, number);
        for (const { name, calls } of kind.modules) await calls(client, ownerId).put(asRecord(whole.body[name]));
        return [but(changed, { managementPolicy: 'Observe' }), changed, but(another, { managementPolicy: 'Observe' })];
      },
      async sourced(number) {
        const { whole, another, changed, choose } = await row.declare(post, number);
        const from = ({ body }: Pick<Declaration, 'body'>) =>
          choose(
            Object.fromEntries(Object.entries(body).map(([module, sent]) => [module, asRecord(sent)])),
            fromSecret,
          );
        return [from(whole), whole, from(another), from(changed), another];
      },
      async random(number, name) {
        return byChance(await walkableModules(stack, row, number, name), seed + at, which === 'every' ? 20 : 6);
      },
    };
    return Promise.all(
      Object.entries(series).map(async ([life, editsOf], index) => {
        const name = `${row.type.plural}-${life}`;
        return { row, name, subject: ofModules(kind, stack), edits: await editsOf(1 + at * 20 + index, name) };
      }),
    );
  }
}

/** Random specs that the API accepts, each derived from the previous state. */
async function byChance({ start, changes, declared, fresh }: Walkable, seed: number, numRuns: number): Promise<Edit[]> {
  const edits: Edit[] = [];
  let state: State = start;
  for (const change of fc.sample(changes, { numRuns, seed })) {
    state = { ...state, ...change };
    const { spec, objects, body } = declared(state);
    try {
      await fresh(body);
      edits.push({ spec, objects });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
    }
  }
  return edits;
}
