import { expect, test } from 'vitest';
import { type Client, createClient, isNotFound } from '../../src/client/client.ts';

const OTHER = 'x_01k9zq3v5hf8svx2r4c6y7n0wd';

/** Every call that has an id in its path, for each position of an id. */
const calls: Record<string, (client: Client, id: string) => Promise<unknown>> = {
  get: ({ credentials }, id) => credentials.get(id),
  update: ({ credentials }, id) => credentials.update(id, {}),
  delete: ({ credentials }, id) => credentials.delete(id),
  'the parent of a nested resource': ({ httpsEdgeRoutes }, id) => httpsEdgeRoutes(id).get(OTHER),
  'a nested resource': ({ httpsEdgeRoutes }, id) => httpsEdgeRoutes(OTHER).get(id),
  'the parent of a list': async ({ httpsEdgeRoutes }, id) => Array.fromAsync(httpsEdgeRoutes(id).list()),
  'a nested resource with a module': (client, id) => client.httpsEdgeRouteModules(OTHER, id).oidc.get(),
  'the parent of a nested resource with a module': (client, id) => client.httpsEdgeRouteModules(id, OTHER).oidc.get(),
  'a module': (client, id) => client.tlsEdgeModules(id).backend.get(),
  'the sources of a subscription': (client, id) => client.eventSources(id).list(),
  'a source of a subscription': (client, id) => client.eventSources(OTHER).delete(id),
  replaceRules: (client, id) => client.replaceRules(id, { rules: [] }),
  rulesOf: (client, id) => client.rulesOf(id),
  detachCertificate: (client, id) => client.detachCertificate(id),
  detachCertificatePolicy: (client, id) => client.detachCertificatePolicy(id),
};

test.each(Object.keys(calls))(
  'an id that would lead to another path counts as not found, and is never sent: %s',
  async (name) => {
    let attempts = 0;
    const client = createClient({
      baseUrl: 'http://127.0.0.1:1',
      apiKey: 'k',
      retries: 0,
      onAttempt: () => attempts++,
    });
    for (const id of ['.', '..', '', '/', `../ip_policies/${OTHER}`, `${OTHER}/`]) {
      const call = async () => calls[name]?.(client, id);
      await expect(call(), id).rejects.toSatisfy(isNotFound);
    }
    expect(attempts).toBe(0);
  },
);
