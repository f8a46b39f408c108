/** With many more rules and blocks. */
import './grammar.all.test.ts';
