/** The counterpart of the delivery: signs and posts bodies in a loop, and neither reads nor records anything. */
import { createHmac } from 'node:crypto';
import { Agent } from 'undici';
import { PAYLOAD } from './rows.ts';

/** Posts a second. @param inFlight posts at once */
export async function signedPosts(url: string, count: number, inFlight: number, secret: Buffer): Promise<number> {
  const agent = new Agent({ connections: inFlight });
  const startedAt = performance.now();
  let left = count;
  const body = JSON.stringify({ specversion: '1.0', id: 'ev_bench', data: PAYLOAD });
  const post = async () => {
    while (left-- > 0) {
      const timestamp = Math.floor(Date.now() / 1000);
      const signature = createHmac('sha256', secret).update(`ev_bench.${timestamp}.${body}`).digest('base64');
      const headers = {
        'content-type': 'application/cloudevents+json',
        'webhook-id': 'ev_bench',
        'webhook-timestamp': String(timestamp),
        'webhook-signature': `v1,${signature}`,
      };
      const { origin, pathname } = new URL(url);
      const answer = await agent.request({ origin, path: pathname, method: 'POST', headers, body });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, post));
  const seconds = (performance.now() - startedAt) / 1000;
  await agent.close();
  return count / seconds;
}
