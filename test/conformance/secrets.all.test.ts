/** Plays every row, and looks for the secrets of all rows where no secret belongs. */
import { describe, expect, test } from 'vitest';
import { SECTIONS } from '../../dev/conformance/sections.ts';
import { dumpOf } from '../api/dump.ts';
import type { Caller, Reply } from '../api/harness.ts';
import { play } from './play.ts';
import { createWorld } from './world.ts';

/** Members of requests and answers that are secret. */
const SECRET = new Set(['token', 'client_secret', 'private_key_pem', 'signing_secret', 'api_key']);

const world = await createWorld();
const { api } = world;
const secrets = new Set<string>([api.admin.key]);
const errors: string[] = [];

function collect(node: unknown): void {
  if (node === null || typeof node !== 'object') return;
  for (const [name, member] of Object.entries(node)) {
    if (!SECRET.has(name) || typeof member !== 'string' || member.length < 16) collect(member);
    else if (!member.startsWith('-----')) secrets.add(member);
    // Of a PEM, take one line, since line breaks may be escaped. Some rows send a certificate in place of a key.
    else if (member.includes('PRIVATE KEY')) secrets.add(member.split('\n')[1] ?? member);
  }
}

function watched(caller: Caller): Caller {
  const send: Caller['send'] = async (method, path, sent) => {
    collect(sent?.body);
    const reply: Reply = await caller.send(method, path, sent);
    if (reply.status >= 400) errors.push(reply.text);
    else if (reply.text !== '') collect(JSON.parse(reply.text));
    return reply;
  };
  return { ...caller, send };
}

const { admin, user, bot, anonymous } = world.callers;
const callers = { admin: watched(admin), user: watched(user), bot: watched(bot), anonymous: watched(anonymous) };
// Rows with settings of their own need a server of their own.
const rows = SECTIONS.flatMap((section) => section.rows).filter(({ settings }) => settings === undefined);
for (const row of rows) await play(row, callers, world.values());

const found = (texts: readonly string[]) => {
  const all = texts.join('\n');
  return [...secrets].filter((secret) => all.includes(secret));
};

describe('no secret that a client has sent or received', () => {
  test('(there are some of each kind)', () => {
    expect(secrets.size).toBeGreaterThan(20);
    expect(errors.length).toBeGreaterThan(100);
    expect(api.logs.length).toBeGreaterThan(500);
  });

  test('is in an error', () => expect(found(errors)).toEqual([]));

  test('is in the log, at any level', () => expect(found(api.logs)).toEqual([]));

  test('is in an event, or anywhere in the database', async () => {
    for (const [table, lines] of await dumpOf(api)) expect(found([lines]), table).toEqual([]);
  });
});
