/** Fills a database through the API itself: one more than a page of every family, from its samples. */
import { z } from 'zod';
import { sampleValues } from '../../dev/fixtures/sample-values.ts';
import { createSample, type Sample } from '../../dev/fixtures/samples.ts';
import { startApi } from '../../src/api/server.ts';
import { FAMILIES } from '../../src/resources/families.ts';
import { BENCH_KEY, KEYRING } from '../keys.ts';

const COUNT = 101;

const created = z.record(z.string(), z.unknown());

/** The created resources, by family name. */
export async function seed(databaseUrl: string): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const settings = { bootstrapApiKey: BENCH_KEY, encryptionKey: KEYRING, rateLimit: 0, rateLimitPerOwner: 0 };
  const api = await startApi({ databaseUrl, port: 0, ...settings });
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json' };
    const response = await fetch(api.listening + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`POST ${path} answered ${response.status}: ${text}`);
    return created.parse(JSON.parse(text));
  };
  try {
    const values = await sampleValues();
    const samples = new Map<string, Sample[]>();
    let n = 0;
    for (const family of FAMILIES) {
      const made: Sample[] = [];
      // A page of nested resources has a single parent.
      const parent = FAMILIES.find(({ name }) => name === family.parent?.of.name);
      const inside = parent ? { [parent.name]: (await createSample(post, parent, 'least', n++, values)).made } : {};
      while (made.length < COUNT) made.push(await createSample(post, family, 'full', n++, { ...values, ...inside }));
      samples.set(family.name, made);
    }
    return samples;
  } finally {
    await api.stop();
  }
}
