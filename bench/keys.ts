/** Of the admin who calls. */
export const BENCH_KEY = 'tnl_ak_of_the_benchmark_0123456789';

export const ENCRYPTION_KEY = `bench:${Buffer.alloc(32, 7).toString('base64')}`;
