/** Whoever does what a message says gets there: every remedy that a message names is carried out to the letter. */
import { describe, expect, test } from 'vitest';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { CREDENTIALS, credential, eventually, type Stack } from './stack.ts';

export const ADOPT = 'tunnel-operator.dev/adopt';
export const ROTATE = 'tunnel-operator.dev/rotate-requested-at';

/** A message that is longer is not read. */
const LONGEST_MESSAGE = 420;

export interface Problem {
  what: string;
  type: ResourceType;
  /** Brings an object of that name into trouble; returns an id if the remedies need it. */
  arrange(name: string): Promise<string | undefined>;
  /** What the condition Ready says then. */
  says: (name: string, id: string | undefined) => string;
  /** What that names, in its words. */
  remedies: Record<string, (name: string, id: string) => Promise<unknown>>;
  /** Remedies after which there is no such object any more. */
  ends?: Record<string, (name: string, id: string) => Promise<unknown>>;
}

/** Waits for the words of the condition Ready. */
export const told = (stack: Stack, type: ResourceType, name: string, message: string) =>
  eventually(async () => expect((await stack.see(type, name)).ready?.message).toBe(message));

export const setAdopt = (stack: Stack, type: ResourceType, name: string, id: string | null) =>
  stack.annotate(type, name, { [ADOPT]: id });

/** A credential that is not in the cluster any more; its Secret is. */
export async function retained(stack: Stack, name: string): Promise<string> {
  await stack.apply(credential(name, { deletionPolicy: 'Retain' }));
  const { status } = await stack.ready(CREDENTIALS, name);
  await stack.remove(CREDENTIALS, name);
  return String(status.id);
}

export function testRemedies(stack: Stack, problems: readonly Problem[]): void {
  describe.each(problems.map((problem, n) => ({ ...problem, n })))('$what', (problem) => {
    const { n, type, arrange, says, remedies, ends = {} } = problem;
    const arranged = async (remedy: string) => {
      const name = `problem-${n}-${Object.keys({ ...remedies, ...ends }).indexOf(remedy)}`;
      const id = await arrange(name);
      const message = says(name, id);
      await told(stack, type, name, message);
      expect(message.length).toBeLessThan(LONGEST_MESSAGE);
      return { name, id: String(id) };
    };
    test.each(Object.entries(remedies))('%s', async (remedy, perform) => {
      const { name, id } = await arranged(remedy);
      await perform(name, id);
      await stack.ready(type, name);
      if (type !== CREDENTIALS) return;
      const { secretName } = (await stack.see(type, name)).status;
      expect(await stack.accepts((await stack.secret(String(secretName)))?.token)).toBe(true);
    });
    test.for(Object.entries(ends))('%s', async ([remedy, perform]) => {
      const { name, id } = await arranged(remedy);
      await perform(name, id);
      await eventually(async () => expect(await stack.find(type, name)).toBeUndefined());
    });
  });
}
