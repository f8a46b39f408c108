/** With many more steps. */
import './walks.all.test.ts';
