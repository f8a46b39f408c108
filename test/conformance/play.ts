/** Plays rows against an API, and checks the answers. */
import { expect } from 'vitest';
import type { Expected, Role, Row, Step } from '../../dev/conformance/row.ts';
import { DROPPED, fill, mapLeaves, type Values } from '../../dev/fixtures/placeholders.ts';
import type { Caller, Reply } from '../api/harness.ts';
import { type Ask, plainly } from './witness.ts';

type Callers = Readonly<Record<Role, Caller>>;

/** Plays a row; fails the test if an answer differs. */
export async function play(row: Row, callers: Callers, values: Values, ask: Ask = plainly): Promise<void> {
  const known = await prepare(row, callers, values, ask);
  for (const [step, answer] of [[row.ask, row.answer] as const, ...(row.later ?? [])]) {
    compare(await send(step, callers, known, ask), answer, known);
  }
}

/** Plays the steps that prepare a row; returns the values that placeholders may name from then on. */
export async function prepare(
  { given = {} }: Pick<Row, 'given'>,
  callers: Callers,
  values: Values,
  ask: Ask = plainly,
): Promise<Values> {
  const known: Record<string, unknown> = { ...values };
  for (const [name, step] of Object.entries(given)) {
    const reply = await send(step, callers, known, ask);
    if (reply.status >= 300) {
      throw new Error(`${step.method} ${step.path} for "${name}" answered ${reply.status}: ${reply.text}`);
    }
    known[name] = reply.text === '' ? {} : JSON.parse(reply.text);
  }
  return known;
}

export function send(step: Step, callers: Callers, values: Values, ask: Ask = plainly): Promise<Reply> {
  const request = fill(step, values);
  return ask(request, callers[request.as ?? 'admin']);
}

function compare(reply: Reply, wanted: Expected, values: Values): void {
  const { status, body, headers = {} } = fill(wanted, values);
  expect(reply.status, reply.text).toBe(status);
  if (body === undefined) {
    if (status === 204) expect(reply.text).toBe('');
  } else {
    const got: unknown = JSON.parse(reply.text);
    expect(got).toMatchObject(asymmetric(body) as object);
    expectAbsent(got, body);
  }
  expect(reply.headers).toMatchObject(asymmetric(headers) as object);
  expectAbsent(reply.headers, headers);
}

/** Leaves out members that must be absent: expectAbsent checks those. */
const asymmetric = (body: unknown) =>
  mapLeaves(body, (leaf) => {
    if (leaf === undefined) return DROPPED;
    return leaf instanceof RegExp ? expect.stringMatching(leaf) : leaf;
  });

function expectAbsent(got: unknown, wanted: unknown): void {
  if (wanted === null || typeof wanted !== 'object' || got === null || typeof got !== 'object') return;
  for (const [name, member] of Object.entries(wanted)) {
    if (member === undefined) expect(got).not.toHaveProperty([name]);
    else expectAbsent((got as Record<string, unknown>)[name], member);
  }
}
