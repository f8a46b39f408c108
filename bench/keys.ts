import { KEY_BYTES, type Keyring } from '../src/api/secrets/keyring.ts';

/** The API key of the admin that calls. */
export const BENCH_KEY = 'tnl_ak_of_the_benchmark_0123456789';

export const KEYRING: Keyring = [{ id: 'bench', bytes: Buffer.alloc(KEY_BYTES, 7) }];
