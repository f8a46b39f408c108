// Runs before an uninstall that removes the CustomResourceDefinitions: deletes every object while the operator still
// runs. Without the operator, their resources in the API would stay, and their finalizers would block the deletion.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port } = process.env;
const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
const account = process.env.ACCOUNT_FOLDER ?? '/var/run/secrets/kubernetes.io/serviceaccount';
const token = await readFile(`${account}/token`, 'utf8');
const ca = await readFile(`${account}/ca.crt`, 'utf8');
const group = '/apis/tunnel-operator.dev/v1alpha1';
const deadline = Date.now() + Number(process.env.TIMEOUT_SECONDS) * 1000;

// Process 1 ignores signals without a handler.
process.once('SIGTERM', () => process.exit(143));

/** The objects that the last list returned. */
let left = [];

async function kube(method, path) {
  for (;;) {
    const { status, said } = await ask(method, path);
    if (status === 404) return {};
    if (status < 300) return JSON.parse(said);
    const reason = `${method} ${path}: ${said}`;
    if (status !== 429 && status < 500) throw new Error(reason);
    if (Date.now() > deadline) giveUp(reason);
    await delay(1000);
  }
}

/** An unreachable server counts as overloaded (503), so the request is retried. */
async function ask(method, path) {
  const signal = AbortSignal.timeout(Math.min(Math.max(deadline - Date.now(), 1000), 30_000));
  try {
    const call = request(`${server}${path}`, { method, headers: { authorization: `Bearer ${token}` }, ca, signal });
    call.end();
    const [response] = await once(call, 'response');
    return { status: response.statusCode, said: await text(response) };
  } catch (error) {
    return { status: 503, said: error.message || error.code };
  }
}

function giveUp(reason) {
  if (reason) process.stderr.write(`${reason}\n`);
  for (const { plural, metadata, status } of left) {
    const why = status?.conditions?.find(({ status }) => status !== 'True')?.message ?? 'is the operator running?';
    process.stderr.write(
      `left: ${plural} ${metadata.namespace ? `${metadata.namespace}/` : ''}${metadata.name}: ${why}\n`,
    );
  }
  process.exit(1);
}

const { resources = [] } = await kube('GET', group);
const plurals = resources.map(({ name }) => name).filter((name) => !name.includes('/'));

async function objectsOf(plural) {
  const found = [];
  for (let from = ''; ; ) {
    const { items = [], metadata } = await kube('GET', `${group}/${plural}?limit=500${from}`);
    found.push(...items.map(({ metadata, status }) => ({ plural, metadata, status })));
    if (!metadata?.continue) return found;
    from = `&continue=${encodeURIComponent(metadata.continue)}`;
  }
}

async function remaining() {
  const found = [];
  for (const plural of plurals) found.push(...(await objectsOf(plural)));
  return found;
}

let asked = new Set();
for (;;) {
  left = await remaining();
  if (left.length === 0) break;
  const news = left.filter(({ metadata }) => !asked.has(metadata.uid) && !metadata.deletionTimestamp);
  for (const { plural, metadata } of news) {
    const within = metadata.namespace ? `namespaces/${metadata.namespace}/` : '';
    await kube('DELETE', `${group}/${within}${plural}/${metadata.name}`);
  }
  asked = new Set(left.map(({ metadata }) => metadata.uid));
  if (Date.now() > deadline) giveUp();
  await delay(500);
}
process.stdout.write('no objects are left\n');
