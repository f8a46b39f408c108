import { expect } from 'vitest';
import type { Stack } from './stack.ts';

/** Changes the status of an object by hand; null removes a member, or all of it. */
export async function patchStatus({ run }: Stack, kind: string, name: string, status: object | null): Promise<void> {
  const how = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
  expect(await run('patch', kind, name, ...how)).toMatchObject({ code: 0 });
}
