/** The receivers of docs/events.md, each run as it is printed there. */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startChild } from '../../../dev/processes/child-process.ts';
import { isOnPath } from '../../../dev/processes/shell.ts';
import { freePort } from '../../../src/postgres/ports.ts';
import { atEnd } from '../../end-of-file.ts';
import { skipFor } from '../../skip.ts';
import { removeFolder } from '../faults/api-process.ts';
import { courier, EVENT, never, SECRET, webhook } from './wire/receiver.ts';

const page = await readFile(new URL('../../../docs/events.md', import.meta.url), 'utf8');
const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-receivers-'));
atEnd(removeFolder(folder));

/** How the source in a file becomes a command. */
const PROGRAMS = [
  { language: 'js', needs: 'node', file: 'receiver.mjs', prepared: async (path: string) => [process.execPath, path] },
  { language: 'python', needs: 'python3', file: 'receiver.py', prepared: async (path: string) => ['python3', path] },
  { language: 'go', needs: 'go', file: 'receiver.go', prepared: built },
];

/** `go run` would leave its program behind. */
async function built(path: string): Promise<string[]> {
  await promisify(execFile)('go', ['build', '-o', `${path}.exe`, path]);
  return [`${path}.exe`];
}

for (const { language, needs, file, prepared } of PROGRAMS) {
  const lacks = isOnPath(needs) ? undefined : `needs ${needs}`;
  test(`the receiver in ${language} takes what is signed, and nothing else`, {
    timeout: 120_000,
    ...skipFor(lacks),
  }, async () => {
    const [, source] = page.split(`\`\`\`${language}\n`);
    const path = join(folder, file);
    await writeFile(path, String(source?.split('```')[0]));
    const port = await freePort();
    const env = { PATH: process.env.PATH, PORT: String(port), SIGNING_SECRET: SECRET };
    const [command = '', ...args] = await prepared(path);
    const child = startChild({ name: file, command, args, logFile: `${path}.log`, env });
    atEnd(() => child.stop());
    const it = courier();
    const deliver = (options = {}) => it.deliver(webhook(port, '/', options), EVENT, never);
    await expect.poll(deliver, { timeout: 60_000 }).toEqual({ delivered: true, status: 204 });
    const other = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
    expect(await deliver({ secrets: [other, SECRET] })).toMatchObject({ delivered: true });
    expect(await deliver({ secrets: [other] })).toMatchObject({ delivered: false, status: 401 });
    const late = courier({ now: () => new Date(Date.now() - 360_000) });
    expect(await late.deliver(webhook(port), EVENT, never)).toMatchObject({ delivered: false, status: 401 });
    expect(await readFile(child.logFile, 'utf8')).toContain(`${EVENT.type} ${EVENT.subject}`);
  });
}
