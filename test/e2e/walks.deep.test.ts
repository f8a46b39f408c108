/** With many more steps. */
import './walks.test.ts';
