/**
 * What holds for every request of every row: responses state the rate limits, temporary refusals say when to try again,
 * messages name their subject, and a write leaves exactly the events that follow from the definitions of the families.
 */
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { z } from 'zod';
import type { Step } from '../../dev/conformance/row.ts';
import { words } from '../../src/api/errors/naming.ts';
import type { ErrorBody, ErrorCode } from '../../src/resources/definition/errors.ts';
import { moduleSubject } from '../../src/resources/definition/module.ts';
import { eventTypes, isShown, type Resource } from '../../src/resources/definition/resource.ts';
import { FAMILIES } from '../../src/resources/families.ts';
import { ALL_MODULES } from '../../src/resources/modules.ts';
import type { Caller, Reply, TestApi } from '../api/harness.ts';
import type { Contract } from './coverage.ts';

type Request = Pick<Step, 'method' | 'path' | 'body' | 'headers' | 'as'>;

/** Sends a request whose placeholders are filled in. */
export type Ask = (request: Request, caller: Caller) => Promise<Reply>;

export const plainly: Ask = ({ method, path, body, headers }, caller) =>
  caller.send(method, path, { body, ...(headers ? { headers: { ...headers } } : {}) });

interface Change {
  type: string;
  resource_id: string;
  actor: unknown;
  api_key_id: unknown;
  request_id: unknown;
  payload: unknown;
  revision: number;
  changed_fields: readonly string[] | null;
}

/** Sends requests one after the other, and fails the test if an answer or the events of a request are wrong. */
export function witnessed({ rows }: Pick<TestApi, 'rows'>, contract: Contract): Ask {
  const lastEvent = async () => String((await rows("select coalesce(max(id), '') as id from events"))[0]?.id);
  const eventsAfter = (id: string) => rows('select * from events where id > $1', [id]);

  return async (request, caller) => {
    const last = await lastEvent();
    const target = targetOf(request);
    const before = target && (await stateOf(rows, target));
    const reply = await plainly(request, caller);
    expectHeaders(request, reply, caller, contract);
    if (reply.status >= 400) expectMessage(request, reply.error);
    const after = target && (await stateOf(rows, target));
    const written = changes(request, reply, target, before, after);
    const actor = request.headers?.authorization === undefined ? caller.id : expect.any(String);
    const author = { actor, api_key_id: expect.stringMatching(/^ak_/), request_id: reply.headers['x-request-id'] };
    const expected: Change[] = written.map((change) => ({ ...change, ...author }));
    const events = (await eventsAfter(last)).toSorted(byResource);
    expect(events, `events of ${request.method} ${request.path}`).toMatchObject(expected.toSorted(byResource));
    return reply;
  };
}

const byResource = (a: { resource_id?: unknown }, b: { resource_id?: unknown }) =>
  String(a.resource_id) < String(b.resource_id) ? -1 : 1;

function expectHeaders({ headers = {}, ...step }: Request, reply: Reply, { key }: Caller, contract: Contract): void {
  const { status } = reply;
  if (status === 429 || status === 503) expect(reply.headers['retry-after'], reply.text).toMatch(/^[1-9]\d*$/);
  const hasKey = key !== '' || headers.authorization !== undefined;
  const wrongVersion = status === 400 && 'Service-Version' in reply.error.details;
  if (!hasKey || status === 401 || wrongVersion || !contract.operationOf(step)) return;
  for (const name of ['limit', 'remaining', 'reset']) {
    expect(reply.headers[`ratelimit-${name}`], `${step.method} ${step.path}`).toMatch(/^\d+$/);
  }
}

/** Errors whose details hold the subject of the message. */
const ABOUT_DETAILS: ReadonlySet<ErrorCode> = new Set([
  'PERMISSION_DENIED',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'CONFLICT',
  'RESOURCE_IN_USE',
]);

/** Many clients show the message alone, so it must name what is in the details. */
function expectMessage(
  { body }: Request,
  { error_code, msg, details: { request_id: _, ...details } }: ErrorBody,
): void {
  const told = Object.entries(details);
  if (told.length === 0) return;
  if (error_code === 'INVALID_REQUEST') {
    const [name, reason] = told[0] ?? [];
    const others = told.length === 1 ? '' : ` (and ${told.length - 1} more, see details)`;
    expect(msg).toBe(`${name}: ${reason}${others}`);
  } else if (ABOUT_DETAILS.has(error_code)) {
    const names = told.flatMap(([name, value]) => [value, words(value), subjectOf(name), sentAt(name, body)]);
    expect(
      names.some((name) => name !== '' && msg.includes(name)),
      `"${msg}" names none of ${names}`,
    ).toBe(true);
  }
}

/** `/owner_id` is about an owner. */
const subjectOf = (name: string) => words(name.replace(/^\//, '').replace(/_id$/, ''));

/** The text in the body that a JSON pointer leads to; empty if there is none. */
function sentAt(pointer: string, body: unknown): string {
  let value = body;
  for (const segment of pointer.split('/').slice(1)) value = Object(value)[segment];
  return typeof value === 'string' ? value : '';
}

/** The resource that a path leads to or into. */
interface Target {
  family: Resource;
  id: string;
  /** The path of something in the resource, such as a module; empty for the resource itself. */
  inside: string;
}

const pathOf = ({ path }: Request) => path.split('?', 1)[0] ?? '';
const patternOf = ({ path }: Resource) => path.replaceAll(/\{\w+\}/g, '[^/]+');

function targetOf(request: Request): Target | undefined {
  const targets = FAMILIES.flatMap((family): Target[] => {
    const [, id = '', inside = ''] = new RegExp(`^${patternOf(family)}/([^/]+)(?:/(.*))?$`).exec(pathOf(request)) ?? [];
    return family.id.safeParse(id).success ? [{ family, id, inside }] : [];
  });
  // Prefer a nested resource to its parent.
  return targets.toSorted((a, b) => b.family.path.length - a.family.path.length)[0];
}

/** The target as it is stored, and the resources nested in it. */
async function stateOf(rows: TestApi['rows'], { family, id }: Target) {
  const [row] = await rows(`select * from ${family.table} where id = $1`, [id]);
  const inside: { family: Resource; id: string; revision: number }[] = [];
  for (const child of FAMILIES.filter(({ parent }) => parent?.of.name === family.name)) {
    const column = child.parent?.parameter;
    const found = await rows(`select id, revision from ${child.table} where ${column} = $1`, [id]);
    inside.push(...found.map((each) => ({ family: child, id: String(each.id), revision: Number(each.revision) })));
  }
  return { row, revision: Number(row?.revision ?? 0), inside };
}

type State = Awaited<ReturnType<typeof stateOf>>;

/** The changes that a successful request has made. */
function changes(
  request: Request,
  reply: Reply,
  target: Target | undefined,
  before: State | undefined,
  after: State | undefined,
): Written[] {
  const { method } = request;
  if (method === 'GET' || reply.status >= 300) return [];
  const made = FAMILIES.find((family) => new RegExp(`^${patternOf(family)}$`).test(pathOf(request)));
  if (made && method === 'POST' && reply.headers['idempotency-replayed'] === 'true') return [];
  if (made && method === 'POST') return [{ ...change(made, 'created', idOf(reply), 1), payload: viewIn(reply, made) }];
  if (!target || !before) return [];
  const { family, id, inside } = target;
  // After 202, the resource is deleted later on.
  if (inside === '' && method === 'DELETE' && reply.status === 204) {
    const all = [...before.inside, { family, id, revision: before.revision }];
    return all.map((gone) => change(gone.family, 'deleted', gone.id, gone.revision + 1));
  }
  if (!after || before.revision === after.revision) return [];
  const module = ALL_MODULES.find(({ of, name }) => of.name === family.name && name === inside);
  if (module) {
    const subject = { name: moduleSubject(module) };
    const had = [before.row?.modules].flat().includes(module.name);
    if (method === 'DELETE') return [change(subject, 'deleted', id, after.revision)];
    if (!had) return [change(subject, 'created', id, after.revision)];
    return [{ ...change(subject, 'updated', id, after.revision), changed_fields: expect.any(Array) }];
  }
  return [
    {
      ...change(family, 'updated', id, after.revision),
      changed_fields: inside === 'rules' ? ['rule_changes'] : changedFields(family, before.row, after.row),
      ...(inside === '' ? { payload: viewIn(reply, family) } : {}),
    },
  ];
}

type Written = Pick<Change, 'type' | 'resource_id' | 'payload' | 'revision' | 'changed_fields'>;

const change = (
  { name }: Pick<Resource, 'name'>,
  kind: keyof ReturnType<typeof eventTypes>,
  id: string,
  revision: number,
): Written => ({
  type: eventTypes(name)[kind],
  resource_id: id,
  payload: { id } as object,
  revision,
  changed_fields: null,
});

type Stored = Readonly<Record<string, unknown>> | undefined;

/** The shown names of fields whose columns differ. */
function changedFields({ fields }: Resource, before: Stored, after: Stored): string[] {
  const differs = (column: string) => !isDeepStrictEqual(before?.[column], after?.[column]);
  return Object.entries(fields).flatMap(([name, { as = name }]) =>
    differs(name) || differs(`sealed_${name}`) ? [as] : [],
  );
}

const idOf = (reply: Reply) => z.object({ id: z.string() }).parse(JSON.parse(reply.text)).id;

/** The resource in an answer, without values that only answers show. */
function viewIn(reply: Reply, { fields }: Resource): object {
  const view = z.record(z.string(), z.unknown()).parse(JSON.parse(reply.text));
  const once = Object.entries(fields).filter(([, field]) => field.storage === 'none' && isShown(field));
  const shortened = Object.entries(fields).map(([name, { shorten }]) =>
    shorten ? { [name]: shorten(view[name]) } : {},
  );
  return Object.assign(view, ...shortened, ...once.map(([name]) => ({ [name]: null })));
}
