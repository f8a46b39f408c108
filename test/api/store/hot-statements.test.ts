import { expect, test } from 'vitest';
import { explain } from '../../../dev/database/explain.ts';
import { fillShared, hotStatements } from '../../../dev/database/hot-statements.ts';
import { heldTransaction, startTestApi } from '../harness.ts';

const api = await startTestApi();

test('tables that all families share are read through their indexes', async () => {
  const held = await heldTransaction(api.databaseUrl);
  try {
    await fillShared(held.query, 20_000);
    for (const [name, statement] of Object.entries(await hotStatements())) {
      // Without a name, a statement is planned for its values each time.
      for (const plan of statement.name === undefined ? (['custom'] as const) : (['custom', 'generic'] as const)) {
        const lines = await explain(held.query, statement, { plan });
        expect(
          lines.filter((line) => line.includes('Seq Scan')),
          `${name}, ${plan}`,
        ).toEqual([]);
      }
    }
  } finally {
    await held.rollback();
  }
});
