/** Observes a resource as a declarative client does: what it shows, its ETag, and how often it has changed. */
import { expect } from 'vitest';
import { z } from 'zod';
import type { Caller, Method, Reply, TestApi } from '../harness.ts';

export const json = z.record(z.string(), z.unknown());
export type Json = z.output<typeof json>;

/** A way in which clients send back what they have read. */
export interface Spelling {
  readonly name: string;
  of(read: Json): unknown;
}

/** Clients do not send back the same bytes, but what their own types make of them. */
export const SPELLINGS: readonly Spelling[] = [
  { name: 'as it is', of: (read) => read },
  { name: 'without null, as Go does', of: withoutNull },
  { name: 'with times as Python writes them', of: (read) => mapTexts(read, pythonTime) },
];

function withoutNull(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutNull);
  if (node === null || typeof node !== 'object') return node;
  const there = Object.entries(node).filter(([, member]) => member !== null);
  return Object.fromEntries(there.map(([name, member]) => [name, withoutNull(member)]));
}

function mapTexts(node: unknown, change: (text: string) => string): unknown {
  if (typeof node === 'string') return change(node);
  if (Array.isArray(node)) return node.map((member) => mapTexts(member, change));
  if (node === null || typeof node !== 'object') return node;
  return Object.fromEntries(Object.entries(node).map(([name, member]) => [name, mapTexts(member, change)]));
}

/** `datetime.isoformat()`: microseconds, and the offset in digits. */
const pythonTime = (text: string) =>
  z.iso.datetime().safeParse(text).success
    ? text.replace(/(?:\.(\d{3}))?Z$/, '.$1000+00:00').replace('.000+', '+')
    : text;

/** Another value of about the same form. */
export function anotherThan(value: unknown): unknown {
  if (Array.isArray(value)) return [...value, 'another'];
  if (value !== null && typeof value === 'object') return { ...value, another: 1 };
  if (typeof value === 'string') return `${value}x`;
  if (typeof value === 'boolean') return !value;
  return typeof value === 'number' ? value + 1 : 'another';
}

export function observer({ admin, rows }: Pick<TestApi, 'admin' | 'rows'>) {
  const events = async () => Number((await rows('select count(*) as n from events'))[0]?.n);
  const read = async (address: string) => {
    const reply = await admin.get(address);
    return { body: reply.as(json), etag: reply.headers.etag };
  };

  /** Fails unless the request succeeds, keeps the response and the ETag as they were, and adds no event. */
  async function expectNoChange(method: Method, address: string, body: unknown, what: string): Promise<void> {
    const before = { ...(await read(address)), events: await events() };
    const reply = await admin.send(method, address, { body });
    expect(reply.status, `${what}: ${reply.text}`).toBe(200);
    expect(reply.as(json), what).toEqual(before.body);
    expect(reply.headers.etag, what).toBe(before.etag);
    expect({ ...(await read(address)), events: await events() }, what).toEqual(before);
  }

  /** Fails unless the request changes the resource and answers with what GET shows from then on; returns that. */
  async function expectChange(method: Method, address: string, body: unknown, what: string): Promise<Json> {
    const before = { ...(await read(address)), events: await events() };
    const reply = await admin.send(method, address, { body });
    expect(reply.status, `${what}: ${reply.text}`).toBe(200);
    const after = await read(address);
    expect(after.body, what).toEqual(reply.as(json));
    expect(after.etag, what).toBe(reply.headers.etag);
    expect(after.etag, what).not.toBe(before.etag);
    expect(await events(), what).toBeGreaterThan(before.events);
    return after.body;
  }

  /** Fails unless the request is refused for exactly this member, and nothing has changed. */
  async function expectRefused(
    method: Method,
    address: string,
    body: unknown,
    pointer: string,
    reason: RegExp,
  ): Promise<void> {
    const before = { ...(await read(address)), events: await events() };
    const { error } = await admin.send(method, address, { body });
    const { request_id: _, ...details } = error.details;
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(details).toEqual({ [pointer]: expect.stringMatching(reason) });
    expect({ ...(await read(address)), events: await events() }).toEqual(before);
  }

  return { read, events, expectNoChange, expectChange, expectRefused };
}

/** Deletes a resource, which succeeds once: the second attempt does not find it. */
export async function deleteTwice(admin: Caller, address: string): Promise<void> {
  const replies: Reply[] = [await admin.delete(address), await admin.delete(address)];
  expect(replies.map(({ status }) => status)).toEqual([204, 404]);
}
