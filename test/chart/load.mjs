// Load from a Pod: creates IP policies through the Service until it is told to stop (SIGUSR2), then looks whether all
// that were acknowledged are there, and prints one line of JSON. Runs in the image of the program.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

const { TUNNEL_API_URL: url, TUNNEL_API_KEY: key } = process.env;
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
const acknowledged = [];
const failures = [];
let requests = 0;
let stopped = false;
process.on('SIGUSR2', () => {
  stopped = true;
});

async function attempt(what, action) {
  requests += 1;
  try {
    const response = await action();
    const answer = await response.json();
    if (response.ok) return answer;
    failures.push(`${what}: ${response.status} ${answer.error_code}`);
  } catch (error) {
    failures.push(`${what}: ${error.cause ?? error}`);
  }
}

async function client() {
  while (!stopped) {
    const description = randomUUID();
    const body = JSON.stringify({ description });
    const made = await attempt('POST', () => fetch(`${url}/ip_policies`, { method: 'POST', headers, body }));
    if (made) {
      acknowledged.push(made.id);
      await attempt('GET', () => fetch(`${url}/ip_policies/${made.id}`, { headers }));
    }
    await delay(50);
  }
}

process.stdout.write('started\n');
await Promise.all([client(), client(), client(), client()]);
const lost = [];
for (const id of acknowledged) {
  const response = await fetch(`${url}/ip_policies/${id}`, { method: 'DELETE', headers });
  await response.body?.cancel();
  if (!response.ok) lost.push(`${id}: ${response.status}`);
  await delay(10);
}
process.stdout.write(`${JSON.stringify({ requests, acknowledged: acknowledged.length, failures, lost })}\n`);
