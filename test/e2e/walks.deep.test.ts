/** The walks of walks.all.test.ts, with many more steps. */
import './walks.all.test.ts';
