import Fastify from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { answerUnknown, collectMethods, pathOf } from '../../../src/api/http/unknown-routes.ts';

const app = Fastify();
const known = collectMethods(app);
const answer = () => 'x';
app.get('/things', answer);
app.post('/things', answer);
app.get('/things/special', answer);
app.route({ method: ['PATCH', 'DELETE'], url: '/things/:id', handler: answer });
app.get('/files/*', { exposeHeadRoute: false }, answer);
app.put('/only/:id/put', answer);
await app.register(async (docs) => docs.get('/', answer), { prefix: '/docs' });

describe('the methods of a path', () => {
  test.each([
    ['/things', ['GET', 'HEAD', 'POST']],
    ['/things/x_1', ['DELETE', 'PATCH']],
    ['/things/special', ['GET', 'HEAD']],
    ['/files/a/b', ['GET']],
    ['/only/x/put', ['PUT']],
    ['/docs', ['GET', 'HEAD']],
    ['/docs/', ['GET', 'HEAD']],
    ['/things/x_1/more', []],
    ['/nothing', []],
  ])('%s: %j', (path, methods) => {
    expect(known.of(path)).toEqual(methods);
  });

  test.each([
    ['/things/special', 'DELETE', true],
    ['/things/special', 'GET', false],
    ['/things/x_1', 'GET', false],
    ['/nothing', 'GET', false],
  ])('%s is itself a route and lacks %s: %s', (path, method, lacks) => {
    expect(known.lacks(path, method)).toBe(lacks);
  });
});

test.each([
  ['/things', '/things'],
  ['/things?a=b?c', '/things'],
  ['/?a', '/'],
  ['http://a.example:80/things?a', '/things'],
  ['HTTPS://a.example', '/'],
  ['/x/http://a.example/things', '/x/http://a.example/things'],
  ['*', '*'],
])('the path of %s is %s', (url, path) => {
  expect(pathOf({ url })).toBe(path);
});

test.each([
  ['GET', '/nothing', 404, undefined],
  ['POST', '/files/a', 405, 'GET'],
  // The route itself found no such file.
  ['GET', '/files/a', 404, undefined],
] as const)('%s %s is answered with %i', async (method, url, status, allow) => {
  const app = Fastify({ exposeHeadRoutes: false });
  onTestFinished(async () => void (await app.close()));
  app.setNotFoundHandler(answerUnknown(collectMethods(app)));
  app.get('/files/*', (_, reply) => reply.callNotFound());
  const reply = await app.inject({ method, url });
  const { details } = reply.json();
  expect([reply.statusCode, reply.headers.allow, details.allow]).toEqual([status, allow, allow]);
  expect(details.path).toBe(status === 404 ? 'does not exist' : undefined);
});
