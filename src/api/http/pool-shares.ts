/**
 * How many of the connections to the database one caller may use at once. The pool serves whoever comes first, so that a
 * single key with many requests would keep everybody else waiting.
 */
import type { Database } from '../store/database.ts';
import { createTurns, type Turns } from './turns.ts';

/** As parts of the pool. What one key takes, all its requests and lookups together, leaves some to others. */
const OF_KEY = 1 / 2;
/** Whoever has a key can make more of them. */
const OF_OWNER = 3 / 4;
const OF_LOOKUPS = 1 / 5;
/** However many addresses they have. */
const OF_STRANGERS = 2 / 5;

export interface PoolShares {
  /** Of operations, by id of the key and of its owner: who takes both takes that of the key first. */
  keys: Turns;
  owners: Turns;
  /** Of lookups of one key that was valid when last seen, or of all others of one address. */
  lookups: Turns;
  /** Of lookups of unknown keys of one address that has used up its limit. */
  spent: Turns;
  /** Of lookups of all other keys. */
  strangers: Turns;
}

export function createPoolShares({ poolSize }: Pick<Database, 'poolSize'>): PoolShares {
  const turns = (part: number) => createTurns(Math.max(1, Math.floor(poolSize * part)));
  return {
    keys: turns(OF_KEY),
    owners: turns(OF_OWNER),
    lookups: turns(OF_LOOKUPS),
    spent: createTurns(1),
    strangers: turns(OF_STRANGERS),
  };
}
