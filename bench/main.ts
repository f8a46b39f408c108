/** `npm run bench [-- part …]`: prints figures; nothing is asserted. */
import { PARTS } from './parts.ts';

const asked = process.argv.slice(2);
const unknown = asked.filter((part) => !(part in PARTS));
if (unknown.length > 0) {
  process.stderr.write(`there is no part ${unknown.join(', ')}; parts are ${Object.keys(PARTS).join(', ')}\n`);
  process.exit(2);
}
for (const [name, part] of Object.entries(PARTS)) {
  if (asked.length === 0 || asked.includes(name)) await part({ out: (line) => process.stdout.write(`${line}\n`) });
}
