/** With many more rules and blocks. */
import './grammar.test.ts';
