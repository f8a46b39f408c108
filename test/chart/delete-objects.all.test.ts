/** The Job before an uninstall that takes the definitions along, with an API server that fails. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { CommandResult } from '../harness.ts';
import { behindTls } from './behind-tls.ts';
import { CHART } from './helm.ts';

const SCRIPT = join(CHART, 'files/scripts/delete-objects.mjs');

/** Runs the script while `isAnswered` says which requests an API server with one object does not leave unanswered. */
async function deleteObjects(
  timeoutSeconds: number,
  isAnswered: (request: IncomingMessage, response: ServerResponse) => boolean,
): Promise<CommandResult> {
  const items = [{ metadata: { namespace: 'a', name: 'p', uid: 'u' } }];
  const server = createServer((request, response) => {
    if (!isAnswered(request, response)) return;
    if (request.method === 'DELETE') items.pop();
    const isList = request.url?.includes('?');
    response.end(JSON.stringify(isList ? { items } : { resources: [{ name: 'ippolicies' }] }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-account-'));
  try {
    const { port } = server.address() as AddressInfo;
    await using kube = await behindTls(`http://127.0.0.1:${port}`, folder);
    await rename(kube.caFile, join(folder, 'ca.crt'));
    await writeFile(join(folder, 'token'), 'token');
    const { hostname, port: kubePort } = new URL(kube.url);
    const at = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: kubePort, ACCOUNT_FOLDER: folder };
    const env = { ...at, TIMEOUT_SECONDS: String(timeoutSeconds) };
    return await new Promise((resolve) => {
      execFile(process.execPath, [SCRIPT], { env }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      });
    });
  } finally {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  }
}

test('asks again when a connection breaks', async () => {
  const broken = new Set<string>();
  const result = await deleteObjects(30, ({ method, url }, response) => {
    const request = `${method} ${url}`;
    if (broken.has(request)) return true;
    broken.add(request);
    response.destroy();
    return false;
  });
  expect(result).toEqual({ code: 0, stdout: 'no objects are left\n', stderr: '' });
  expect([...broken].filter((request) => request.startsWith('DELETE'))).toHaveLength(1);
});

test.each<[string, (response: ServerResponse) => void]>([
  ['breaks connections', (response) => response.destroy()],
  ['does not answer', () => undefined],
  ['has too much to do', (response) => response.writeHead(503).end('too busy')],
])('names what is left when the API server %s to the end', async (_, fail) => {
  let lists = 0;
  const { code, stdout, stderr } = await deleteObjects(1, ({ url }, response) => {
    if (!url?.includes('?') || lists++ === 0) return true;
    fail(response);
    return false;
  });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^(GET|DELETE) .*: .+\nleft: ippolicies a\/p: is the operator running\?\n$/);
});
