// `helm test`: applies a TunnelCredential, waits for the token in its Secret, and asks the API to authenticate it. That
// last step requires an admin's key.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

const { NAMESPACE, NAME, TUNNEL_API_URL = '', TIMEOUT_SECONDS, CREDENTIAL_LABELS = '{}' } = process.env;
const { TUNNEL_API_KEY, TUNNEL_API_KEY_FILE } = process.env;
const apiKey = TUNNEL_API_KEY || (await readFile(TUNNEL_API_KEY_FILE, 'utf8')).trim();
const api = TUNNEL_API_URL.replace(/\/+$/, '');
const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port } = process.env;
const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
const account = process.env.ACCOUNT_FOLDER ?? '/var/run/secrets/kubernetes.io/serviceaccount';
const token = await readFile(`${account}/token`, 'utf8');
const ca = await readFile(`${account}/ca.crt`, 'utf8');
const credentials = `/apis/tunnel-operator.dev/v1alpha1/namespaces/${NAMESPACE}/tunnelcredentials`;
// Process 1 ignores signals without a handler. The next test removes any leftovers.
process.once('SIGTERM', () => process.exit(143));
const deadline = Date.now() + Number(TIMEOUT_SECONDS) * 1000;

// Not fetch, which would also trust the cluster's CA for the management API; the operator does not.
async function kube(method, path, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const call = request(`${server}${path}`, { method, headers, ca });
  call.end(body && JSON.stringify(body));
  const [response] = await once(call, 'response');
  const answer = await json(response);
  if (response.statusCode === 404 && method !== 'POST') return undefined;
  if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.message}`);
  return answer;
}

const say = (line) => process.stdout.write(`${line}\n`);
const secondsSince = (start) => `${((Date.now() - start) / 1000).toFixed(1)} s`;

function shown(object) {
  const of = ({ type, status, reason, message }) => `${type}=${status} (${reason}): ${message}`;
  return object?.status?.conditions?.map(of).join('; ') ?? 'it has no conditions';
}

async function until(what, attempt) {
  for (;;) {
    const { value, state } = await attempt();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`not ${what} after ${TIMEOUT_SECONDS} s: ${state}`);
    await delay(250);
  }
}

async function remove() {
  await kube('DELETE', `${credentials}/${NAME}`);
  await until('deleted', async () => {
    const left = await kube('GET', `${credentials}/${NAME}`);
    return { value: left === undefined, state: shown(left) };
  });
}

async function proveToken() {
  const start = Date.now();
  await kube('POST', credentials, {
    apiVersion: 'tunnel-operator.dev/v1alpha1',
    kind: 'TunnelCredential',
    metadata: { name: NAME, labels: JSON.parse(CREDENTIAL_LABELS) },
    spec: { description: 'helm test', acl: ['bind:*.test.example.com'] },
  });
  say(`applied TunnelCredential ${NAME} in namespace ${NAMESPACE}`);
  const { status } = await until('Ready', async () => {
    const object = await kube('GET', `${credentials}/${NAME}`);
    const ready = object?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
    return { value: ready && object, state: shown(object) };
  });
  say(`Ready after ${secondsSince(start)}: ${status.uri}`);
  const secret = await kube('GET', `/api/v1/namespaces/${NAMESPACE}/secrets/${NAME}`);
  const response = await fetch(`${api}/credentials/authenticate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ token: Buffer.from(secret.data.token, 'base64').toString(), bind: 'a.test.example.com' }),
  });
  const answer = await response.json();
  if (response.status === 403) {
    say(
      `${status.id} has its token in Secret ${NAME}; only an admin's API key may ask whether it authenticates, and the operator's key is not one`,
    );
    return;
  }
  if (!answer.allowed || answer.credential_id !== status.id)
    throw new Error(`the token does not authenticate as ${status.id}: ${JSON.stringify(answer)}`);
  say(`the token in Secret ${NAME} authenticates at ${api} as ${status.id}, which may bind a.test.example.com`);
}

async function attempt(step) {
  try {
    await step();
    return true;
  } catch (error) {
    // What fetch throws says only that it failed.
    process.stderr.write(`failed: ${error.message}${error.cause ? `: ${error.cause.message}` : ''}\n`);
    process.exitCode = 1;
    return false;
  }
}

if (await attempt(remove)) {
  await attempt(proveToken);
  await attempt(remove);
}
