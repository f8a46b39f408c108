/** `npm run bench [-- part … [--only text] [--rounds n] [--minutes n]]`: prints figures, asserts nothing. */
import { parseArgs } from 'node:util';
import { BY_DEFAULT, PARTS } from './parts.ts';

const { values, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string' }, rounds: { type: 'string' }, minutes: { type: 'string' } },
});
const unknown = asked.filter((part) => !(part in PARTS));
if (unknown.length > 0) {
  process.stderr.write(`unknown: ${unknown.join(', ')}; choose from ${Object.keys(PARTS).join(', ')}\n`);
  process.exit(2);
}
const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
const options = {
  out: (line: string) => void process.stdout.write(`${line}\n`),
  only: values.only,
  rounds: number(values.rounds),
  minutes: number(values.minutes),
};
for (const name of asked.length === 0 ? BY_DEFAULT : asked) await PARTS[name]?.(options);
