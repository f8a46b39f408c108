/** Answers to challenges, which every process can give: they are in the database. */
import { z } from 'zod';
import { type AccountKey, challengeRecord, keyAuthorization } from '../../acme/jose.ts';
import type { Zone } from '../../dns/zone.ts';
import { reservedDomain } from '../../resources/reserved-domain.ts';
import type { Executor } from '../store/database.ts';

/** Stores what answers a challenge for a domain, before the authority is told to look. */
export async function storeChallenge(db: Executor, domainId: string, token: string, key: AccountKey): Promise<void> {
  const text = `
    insert into acme_challenges (token, domain_id, key_authorization, txt) values ($1, $2, $3, $4) on conflict do nothing`;
  await db.query({ text, values: [token, domainId, keyAuthorization(token, key), challengeRecord(token, key)] });
}

export async function forgetChallenges(db: Executor, domainId: string): Promise<void> {
  await db.query({ text: 'delete from acme_challenges where domain_id = $1', values: [domainId] });
}

/** What is served for a challenge over HTTP; undefined if there is none with this token. */
export async function answerOverHttp(db: Executor, token: string): Promise<string | undefined> {
  const text = 'select key_authorization from acme_challenges where token = $1';
  const [found] = await db.query({ name: 'acme_challenges.get', text, values: [token] });
  return found && String(found.key_authorization);
}

/**
 * The zone below which challenges over DNS are answered: each domain has one name there, its id without the prefix.
 * @param nameServers outside of the zone
 */
export function challengeZone(db: Executor, apex: string, nameServers: Zone['nameServers']): Zone {
  const texts = createBatches((ids: readonly string[]) => readTexts(db, ids));
  return {
    apex,
    nameServers,
    async texts(name) {
      const id = `${reservedDomain.prefix}_${name.slice(0, -apex.length - 1)}`;
      return reservedDomain.id.safeParse(id).success ? texts(id) : undefined;
    },
  };
}

const found = z.array(z.object({ id: z.string(), txts: z.array(z.string()) }));

/** The records of each domain that exists. */
async function readTexts(db: Executor, ids: readonly string[]): Promise<Map<string, string[]>> {
  const text = `
    select d.id, array_remove(array_agg(c.txt), null) as txts
      from ${reservedDomain.table} d left join acme_challenges c on c.domain_id = d.id where d.id = any($1) group by d.id`;
  const rows = found.parse(await db.query({ name: 'acme_challenges.texts', text, values: [ids] }));
  return new Map(rows.map(({ id, txts }) => [id, txts]));
}

const MOST_AT_ONCE = 1_000;

/**
 * Reads values by key, all that are asked for during one read with the next one: a flood of questions costs the database one
 * statement at a time, and no answer is older than its question.
 */
function createBatches<V>(read: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>) {
  let waiting = new Map<string, PromiseWithResolvers<V | undefined>>();
  let isReading = false;

  async function readAll(): Promise<void> {
    isReading = true;
    while (waiting.size > 0) {
      const asked = waiting;
      waiting = new Map();
      try {
        const values = await read([...asked.keys()]);
        for (const [key, { resolve }] of asked) resolve(values.get(key));
      } catch (error) {
        for (const { reject } of asked.values()) reject(error);
      }
    }
    isReading = false;
  }

  return (key: string): Promise<V | undefined> => {
    const known = waiting.get(key);
    if (known) return known.promise;
    if (waiting.size >= MOST_AT_ONCE) return Promise.reject(new Error('too many questions at once'));
    const asked = Promise.withResolvers<V | undefined>();
    waiting.set(key, asked);
    if (!isReading) void readAll();
    return asked.promise;
  };
}
