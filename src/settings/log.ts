/** What both programs log, and how. */
import { z } from 'zod';
import type { Settings, Values } from './settings.ts';

export const logSettings = {
  logLevel: {
    env: 'LOG_LEVEL',
    flag: '--log-level <level>',
    description: 'least severe level to log',
    default: 'info',
    schema: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
  },
  logFormat: {
    env: 'LOG_FORMAT',
    flag: '--log-format <format>',
    description: 'json, pretty, or auto: pretty on a terminal',
    default: 'auto',
    schema: z.enum(['auto', 'json', 'pretty']),
  },
} as const satisfies Settings;

export type LogConfig = Values<typeof logSettings>;
