/**
 * Signs what is sent as Standard Webhooks describe (github.com/standard-webhooks/standard-webhooks, spec). By hand, since
 * their package hashes in JavaScript, which takes several times longer.
 */
import { createHmac } from 'node:crypto';
import { SIGNING_SECRET_PREFIX } from '../../../resources/event-destination.ts';

/**
 * The headers of a message.
 * @param id the same for every attempt, so that receivers can recognise a repetition
 * @param secrets `whsec_` and base64; a receiver accepts the message if it knows any of them
 */
export function signatureHeaders(id: string, at: Date, body: string, secrets: readonly string[]) {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SIGNING_SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
