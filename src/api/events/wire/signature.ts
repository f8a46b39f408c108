/**
 * Signs what is sent as Standard Webhooks describe (github.com/standard-webhooks/standard-webhooks, spec). By hand, since
 * their package hashes in JavaScript, which takes several times longer.
 */
import { createHmac, createSecretKey } from 'node:crypto';
import { SIGNING_SECRET_PREFIX } from '../../../resources/event-destination.ts';

/**
 * Makes the headers of messages. The id is the same for every attempt, so that receivers can recognise a repetition.
 * @param secrets `whsec_` and base64; a receiver accepts a message if it knows any of them
 */
export function messageSigner(secrets: readonly string[]) {
  // Making a key takes longer than signing with it.
  const keys = secrets.map((secret) => createSecretKey(secret.slice(SIGNING_SECRET_PREFIX.length), 'base64'));
  return (id: string, at: Date, body: string) => {
    const timestamp = String(Math.floor(at.getTime() / 1000));
    const signed = `${id}.${timestamp}.${body}`;
    const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
    return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
  };
}
