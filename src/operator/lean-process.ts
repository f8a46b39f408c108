/**
 * Makes the operator's process small, before anything of the operator is loaded. docs/decisions/0014 has the figures.
 */
import { registerHooks } from 'node:module';
import { extname } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LIBRARY = '@kubernetes/client-node';
// The same extension as this file's: TypeScript in the sources, JavaScript in the package.
const CORE = new URL(`./client-node-core${extname(import.meta.filename)}`, import.meta.url).href;

export function keepProcessSmall(): void {
  // Node.js lets the young generation grow to 128 MiB under load, and it never gets smaller again.
  setFlagsFromString('--semi-space-growth-factor=1');
  // And the old one to several times of what is live, until it is collected.
  setFlagsFromString('--heap-growing-percent=30');
  registerHooks({
    resolve(specifier, context, next) {
      const isGenerated = specifier === './gen/index.js' && context.parentURL?.includes(`/${LIBRARY}/`);
      if (specifier !== LIBRARY && !isGenerated) return next(specifier, context);
      return { url: CORE, shortCircuit: true };
    },
  });
}

/** Once everything is loaded: before the first full collection, V8 lets the old generation grow regardless. */
export function collectOnce(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
}
