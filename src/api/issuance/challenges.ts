/** Answers to challenges, which every process can give: they are in the database. */
import { z } from 'zod';
import { type AccountKey, challengeRecord, keyAuthorization } from '../../acme/jose.ts';
import type { Zone } from '../../dns/zone.ts';
import { reservedDomain } from '../../resources/reserved-domain.ts';
import type { Executor } from '../store/database.ts';

/** Stores what answers a challenge for a domain. Returns whether the authority has been told to look. */
export async function storeChallenge(db: Executor, domainId: string, token: string, key: AccountKey): Promise<boolean> {
  const text = `
    with known as (select answered from acme_challenges where token = $1),
    added as (
      insert into acme_challenges (token, domain_id, key_authorization, txt) values ($1, $2, $3, $4) on conflict do nothing)
    select answered from known`;
  const values = [token, domainId, keyAuthorization(token, key), challengeRecord(token, key)];
  const [known] = await db.query({ name: 'acme_challenges.store', text, values });
  return known?.answered === true;
}

export async function noteAnswered(db: Executor, token: string): Promise<void> {
  await db.query({ text: 'update acme_challenges set answered = true where token = $1', values: [token] });
}

/** Tokens are base64url (RFC 8555, section 8.1). */
const TOKEN = /^[\w-]{1,512}$/;

/** A function that finds what is served for a challenge over HTTP, or undefined. */
export function answersOverHttp(db: Executor): (token: string) => Promise<string | undefined> {
  const find = createBatches((tokens: readonly string[]) => readAnswers(db, tokens));
  return async (token) => (TOKEN.test(token) ? find(token) : undefined);
}

const answers = z.array(z.object({ token: z.string(), key_authorization: z.string() }));

async function readAnswers(db: Executor, tokens: readonly string[]): Promise<Map<string, string>> {
  const text = 'select token, key_authorization from acme_challenges where token = any($1)';
  const rows = answers.parse(await db.query({ name: 'acme_challenges.get', text, values: [tokens] }));
  return new Map(rows.map(({ token, key_authorization }) => [token, key_authorization]));
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
