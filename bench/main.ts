/**
 * `npm run bench [-- part … [--only text] [--rounds n] [--minutes n]]`, or
 * `npm run bench -- compare commit [--only api|operator] [--rounds n]`: prints figures; nothing is asserted.
 */
import { parseArgs } from 'node:util';
import { positive } from '../dev/arguments.ts';
import { BY_DEFAULT, PARTS } from './parts.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string' }, rounds: { type: 'string' }, minutes: { type: 'string' } },
});
const [first, against] = positionals;
const asked = first === 'compare' ? [first] : positionals;
const unknown = asked.filter((part) => !Object.hasOwn(PARTS, part));
if (unknown.length > 0) {
  process.stderr.write(`there is no part ${unknown.join(', ')}; parts are ${Object.keys(PARTS).join(', ')}\n`);
  process.exit(2);
}
const options = {
  out: (line: string) => void process.stdout.write(`${line}\n`),
  only: values.only,
  rounds: positive('--rounds', values.rounds),
  against: first === 'compare' ? against : undefined,
  minutes: positive('--minutes', values.minutes),
};
for (const name of asked.length === 0 ? BY_DEFAULT : asked) await PARTS[name]?.(options);
