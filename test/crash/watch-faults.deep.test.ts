/** With one object of every kind. */
import './watch-faults.test.ts';
