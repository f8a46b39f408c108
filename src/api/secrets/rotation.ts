/** Rotation of encryption keys: which ones a database needs, where the default one is stored, and how to change them. */
import { randomBytes } from 'node:crypto';
import { access, chmod, link, open, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Database, Executor } from '../store/database.ts';
import { BadEncryptionKey, KEY_BYTES, type Keyring, parseKeyring } from './keyring.ts';
import { createSecrets, type Secrets } from './sealing.ts';

const PROOF = 'tunnel-operator';
const proofOf = (id: string) => ({ table: 'encryption_keys', id, field: 'proof' });

const record = z.object({ id: z.string(), proof: z.string() });

const REGISTER = `
  insert into encryption_keys (id, proof, created_at) values ($1, $2, $3) on conflict do nothing`;

/**
 * Opens the secrets of a database. Throws BadEncryptionKey if the keyring lacks a key that the database uses, or has
 * another key under its id: a service that cannot read its secrets must not start.
 * @param source where the keys come from, for the message
 */
export function openSecrets(db: Database, keys: Keyring | undefined, source = 'ENCRYPTION_KEY'): Promise<Secrets> {
  const secrets = createSecrets(keys);
  return db.transaction(async (tx) => {
    if (keys) {
      const [{ id }] = keys;
      const values = [id, secrets.seal(PROOF, proofOf(id)), new Date().toISOString()];
      await tx.query({ text: REGISTER, values });
    }
    const used = await tx.query({ text: 'select id, proof from encryption_keys order by id', values: [] });
    for (const each of z.array(record).parse(used)) check(secrets, keys, each, source);
    return secrets;
  });
}

function check(
  secrets: Secrets,
  keys: Keyring | undefined,
  { id, proof }: z.output<typeof record>,
  source: string,
): void {
  if (!keys?.some((key) => key.id === id)) {
    const remedy = keys ? 'list it too, or run "tunnel-operator rotate-encryption" while both are listed' : 'set it';
    throw new BadEncryptionKey(`${source} lacks the key "${id}", which seals secrets in this database; ${remedy}`);
  }
  try {
    secrets.open(proof, proofOf(id));
  } catch {
    throw new BadEncryptionKey(`the key "${id}" in ENCRYPTION_KEY is not the one that seals secrets in this database`);
  }
}

/**
 * Reads the key from a file that only its owner can read, and creates the file if it is missing: for a service that
 * also creates its own database. Processes that start at the same moment get the same key.
 */
export async function keyFromFile(file: string): Promise<Keyring> {
  const exists = await access(file).then(
    () => true,
    () => false,
  );
  if (!exists) await make(file);
  const parsed = parseKeyring((await readFile(file, 'utf8')).trim());
  if ('reason' in parsed) throw new BadEncryptionKey(`${file}: ${parsed.reason}`);
  return parsed.keys;
}

async function make(file: string): Promise<void> {
  const fresh = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const key = `${randomBytes(KEY_BYTES).toString('base64')}\n`;
  // Flushed to disk before anything is sealed with it: a crash of the machine must not lose the key of sealed secrets.
  await writeFile(fresh, key, { mode: 0o600, flag: 'wx', flush: true });
  try {
    await chmod(fresh, 0o600);
    // Unlike a rename, a link does not replace a file that another process has created in the meantime.
    await link(fresh, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    await using folder = await open(dirname(file));
    await folder.sync();
  } finally {
    await rm(fresh);
  }
}

/** A column of sealed secrets; bound to its table, its row's id and its name. */
export interface SealedColumn {
  table: string;
  column: string;
}

const BATCH = 100;

/**
 * Seals everything under the first key, so that the others can be removed. Returns how many secrets of each table were
 * resealed. Safe while servers run, once all of them have this keyring; may be interrupted and run again.
 */
export async function rotateEncryption(
  db: Database,
  keys: Keyring,
  columns: readonly SealedColumn[],
): Promise<Record<string, number>> {
  const secrets = await openSecrets(db, keys);
  const [{ id: first }] = keys;
  const done: Record<string, number> = {};
  for (const { table, column } of columns) {
    for (let more = true; more; ) {
      const count = await db.transaction((tx) => resealSome(tx, secrets, { table, column }, first));
      done[table] = (done[table] ?? 0) + count;
      more = count === BATCH;
    }
  }
  await db.query({ text: 'delete from encryption_keys where id <> $1', values: [first] });
  return done;
}

async function resealSome(tx: Executor, secrets: Secrets, { table, column }: SealedColumn, first: string) {
  const text = `
    select id, ${column} as sealed from ${table} where ${column} like 'v%.%' and split_part(${column}, '.', 2) <> $1
     order by id limit ${BATCH} for update`;
  const found = z
    .array(z.object({ id: z.string(), sealed: z.string() }))
    .parse(await tx.query({ text, values: [first] }));
  for (const { id, sealed } of found) {
    const location = { table, id, field: column };
    const values = [id, secrets.seal(secrets.open(sealed, location), location)];
    await tx.query({ text: `update ${table} set ${column} = $2 where id = $1`, values });
  }
  return found.length;
}
