/** Injects random faults. */
import './under-load.all.test.ts';
