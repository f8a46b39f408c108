import { expect, test } from 'vitest';
import { explainUniqueness, uniqueIndex } from '../../../src/api/crud/uniqueness.ts';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import { startTestApi } from '../harness.ts';

const { admin, db } = await startTestApi();
const broken = { kind: 'unique', constraint: uniqueIndex(reservedDomain, 'domain') } as const;
const explain = (domain: string) =>
  explainUniqueness(reservedDomain, broken, { id: 'rd_new', created_at: '', revision: 1, domain }, db);

test('a value that is taken is a conflict with who has it', async () => {
  const domain = 'taken.example.com';
  const { id } = JSON.parse((await admin.post('/reserved_domains', { domain })).text);
  expect(await explain(domain)).toMatchObject({
    code: 'CONFLICT',
    details: { '/domain': `is already used by ${id}`, id },
  });
});

test('a value that has become free since is worth another try, as a temporary error', async () => {
  expect(await explain('free.example.com')).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
});
