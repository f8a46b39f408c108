#!/usr/bin/env node
/**
 * The entry of every command. As process 1 of a container, this process ends only on signals that it listens to, and loading
 * the command line takes a few hundred milliseconds: a signal that comes meanwhile must not be lost.
 */
import { setImmediate } from 'node:timers/promises';
import { endWhenSignalled } from './signals.ts';

endWhenSignalled();
const { run } = await import('./command-line.ts');
// Such a signal is handled in a turn of the event loop, which loading may not have taken.
await setImmediate();
await run();
