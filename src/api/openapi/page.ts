/** The OpenAPI document, and a reference to browse that needs no other host. */
import swagger, { type StaticDocumentSpec } from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import type { Json } from './schemas.ts';

export async function addDocs(app: FastifyInstance, document: Json): Promise<void> {
  const text = JSON.stringify(document);
  app.get('/openapi.json', async (request, reply) => {
    request.documentedPath = '/openapi.json';
    return reply.type('application/json; charset=utf-8').send(text);
  });
  // Its types know OpenAPI up to 3.0; it hands the document on without reading it.
  const specification = { document } as unknown as StaticDocumentSpec;
  await app.register(swagger, { mode: 'static', specification });
  await app.register(swaggerUi, { routePrefix: '/docs', uiConfig: { deepLinking: true, validatorUrl: null } });
}
