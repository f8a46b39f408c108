#!/usr/bin/env node
/**
 * The entry of every command. As process 1 of a container, this process ends only on signals that it listens to, and loading
 * the command line takes a few hundred milliseconds: a signal that comes meanwhile must not be lost.
 */
import { endWhenSignalled } from './signals.ts';

endWhenSignalled();
const { run } = await import('./command-line.ts');
await run();
