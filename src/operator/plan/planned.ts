/** What applying an object would do at the API. */
import type { ObjectName } from './declared-objects.ts';
import type { Difference } from './differences.ts';

export type Action = 'create' | 'change' | 'replace' | 'none' | 'blocked';

/** For a secret: only the fact that it changes. */
export type PlannedChange = Difference | { readonly path: string; readonly isSecret: true };

export interface Planned extends ObjectName {
  readonly action: Action;
  /** Of the resource as it is; undefined if there is none. */
  readonly id?: string | undefined;
  /** Why it is replaced or blocked, or another remark. */
  readonly reason?: string | undefined;
  readonly changes: readonly PlannedChange[];
}
