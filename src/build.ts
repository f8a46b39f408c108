/** Which build of the program runs. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const packageFile = z.object({ version: z.string() });
const { version } = packageFile.parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')));

/** The image sets the variable; it is no setting. */
export const BUILD = { version, commit: process.env.TUNNEL_OPERATOR_COMMIT || 'unknown' };
