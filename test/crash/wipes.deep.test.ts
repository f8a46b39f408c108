/** Two thousand sequences. */
import './wipes.test.ts';
