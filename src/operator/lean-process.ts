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
  // Under load, Node.js lets the young generation grow to 128 MiB, and never shrinks it.
  setFlagsFromString('--semi-space-growth-factor=1');
  // The old generation may grow to several times the live data before it is collected.
  setFlagsFromString('--heap-growing-percent=30');
  registerHooks({
    resolve(specifier, context, next) {
      const isGenerated = specifier === './gen/index.js' && context.parentURL?.includes(`/${LIBRARY}/`);
      if (specifier !== LIBRARY && !isGenerated) return next(specifier, context);
      return { url: CORE, shortCircuit: true };
    },
  });
}

/** Call it once everything is loaded: until the first full collection, V8 ignores the limit on the old generation's growth. */
export function collectOnce(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
}
