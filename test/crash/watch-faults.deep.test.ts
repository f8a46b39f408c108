/** With one object of every kind. */
import './watch-faults.all.test.ts';
