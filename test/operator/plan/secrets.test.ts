import { expect, test } from 'vitest';
import { z } from 'zod';
import { kinds } from '../../../src/operator/kinds/kinds.ts';
import { changesOf } from '../../../src/operator/plan/spec-changes.ts';

const backend = kinds.find(({ kind }) => kind === 'HTTPResponseBackend');

test('a header from a Secret is not shown, however its name is written', () => {
  if (!backend) throw new Error('there is no such kind');
  const secretKeyRef = { name: 'app', key: 'auth' };
  const declared = z
    .object({ deletionPolicy: z.enum(['Delete', 'Retain']), managementPolicy: z.enum(['Manage', 'Observe']) })
    .loose()
    .parse(backend.spec.parse({ headers: { Authorization: { secretKeyRef }, 'X-Plain': { value: 'shown' } } }));
  const changes = changesOf(backend, {
    namespace: 'n',
    declared,
    texts: new Map([['spec.headers.Authorization', 'Bearer NEW']]),
    targets: new Map(),
    remote: { id: 'x', uri: 'u', headers: { authorization: 'Bearer OLD' } } as never,
    members: ['headers'],
    secretBefore: [],
  });
  expect(JSON.stringify(changes)).not.toMatch(/NEW|OLD/);
  expect(JSON.stringify(changes)).toContain('shown');
});
