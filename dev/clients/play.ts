/** Generates and compiles a client, and runs it against an API. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GENERATORS } from './generated.ts';
import { livesOfAllFamilies } from './life.ts';
import { run } from './tools.ts';

/** @throws ToolsUnavailable; Error with the output of the generator, the compiler or the client */
export async function playClient(name: string, api: { url: string; key: string }): Promise<void> {
  const generate = GENERATORS[name];
  if (!generate) throw new Error(`there is no generator ${name}`);
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-client-'));
  try {
    const { command, args, cwd } = await generate(folder, await livesOfAllFamilies());
    const env = { ...process.env, API_URL: api.url, API_KEY: api.key, PYTHONPATH: cwd, PYTHONDONTWRITEBYTECODE: '1' };
    await run(command, [...args], { cwd, env }).catch(({ message, stderr }) => {
      throw new Error(`${message}\n${stderr}`.slice(0, 8_000));
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
