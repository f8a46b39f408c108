// Before an uninstall that takes the CustomResourceDefinitions along: deletes every object while the operator still
// runs. Later, nobody would be there to delete what they stand for, and their finalizers would keep them for ever.
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

async function kube(method, path) {
  const call = request(`${server}${path}`, { method, headers: { authorization: `Bearer ${token}` }, ca });
  call.end();
  const [response] = await once(call, 'response');
  const said = await text(response);
  const { statusCode } = response;
  // In plain words, as often as it takes, where the server has too much to do.
  if (statusCode === 429 || statusCode >= 500) return askAgain(method, path, said);
  if (statusCode === 404) return {};
  if (statusCode >= 300) throw new Error(`${method} ${path}: ${said}`);
  return JSON.parse(said);
}

async function askAgain(method, path, said) {
  if (Date.now() > deadline) throw new Error(`${method} ${path}: ${said}`);
  await delay(1000);
  return kube(method, path);
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
  const left = await remaining();
  if (left.length === 0) break;
  const news = left.filter(({ metadata }) => !asked.has(metadata.uid) && !metadata.deletionTimestamp);
  for (const { plural, metadata } of news) {
    await kube('DELETE', `${group}/namespaces/${metadata.namespace}/${plural}/${metadata.name}`);
  }
  asked = new Set(left.map(({ metadata }) => metadata.uid));
  if (Date.now() > deadline) {
    for (const { plural, metadata, status } of left) {
      const why = status?.conditions?.find(({ status }) => status !== 'True')?.message ?? 'is the operator running?';
      process.stderr.write(`left: ${plural} ${metadata.namespace}/${metadata.name}: ${why}\n`);
    }
    process.exit(1);
  }
  await delay(500);
}
process.stdout.write('no objects are left\n');
