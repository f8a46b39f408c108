/** Where a program that serves nothing else answers probes and scrapers. */
import { z } from 'zod';
import { EVERYWHERE } from './listen-address.ts';
import { wholeNumber } from './schemas.ts';
import type { Settings } from './settings.ts';

export const healthListener = {
  host: {
    env: 'METRICS_HOST',
    flag: '--metrics-host <address>',
    description: 'address for /metrics, /healthz and /readyz; :: for all addresses, IPv4 included',
    default: EVERYWHERE,
    schema: z.string().min(1),
  },
  port: {
    env: 'METRICS_PORT',
    flag: '--metrics-port <port>',
    description: 'port for /metrics, /healthz and /readyz; 0 picks a free one',
    default: '8081',
    schema: wholeNumber(0, 65535),
  },
} as const satisfies Settings;
