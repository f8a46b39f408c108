/** Vitest runs this before each test file. */
import { afterAll } from 'vitest';
import { runSteps } from './end-of-file.ts';

afterAll(runSteps);
