/** What `examples/everything.yaml` ties together, as an API must have it. */
import { expect } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { partsOfId } from '../../src/operator/kinds/nested-calls.ts';
import { ours, type Stack } from './stack.ts';

/** @param client of the API with which the operator of the stack works */
export async function expectTied(stack: Stack, client: Client = stack.client): Promise<void> {
  const idOf = async (plural: string, name: string) => String((await stack.ready(ours(plural), name)).status.id);

  const certificate = { id: await idOf('tlscertificates', 'store') };
  expect(await client.reservedDomains.get(await idOf('reserveddomains', 'store'))).toMatchObject({ certificate });

  const { parent: edge, own: route } = partsOfId(await idOf('httpsedgeroutes', 'store-pages'));
  expect(edge).toBe(await idOf('httpsedges', 'store'));
  expect(await client.httpsEdgeRouteModules(edge, route).oidc.get()).toMatchObject({
    issuer: 'https://accounts.example.com',
    client_id: 'store',
    client_secret: 'replace-me',
  });

  const { ipRestriction, mutualTls, backend } = client.tlsEdgeModules(await idOf('tlsedges', 'store-tills'));
  expect((await ipRestriction.get()).ip_policies).toMatchObject([{ id: await idOf('ippolicies', 'store-networks') }]);
  expect((await mutualTls.get()).certificate_authorities).toMatchObject([
    { id: await idOf('certificateauthorities', 'store-tills') },
  ]);
  expect((await backend.get()).backend).toMatchObject({ id: await idOf('tunnelgroupbackends', 'store-tills') });
}
