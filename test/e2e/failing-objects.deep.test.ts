/** With a thousand of them. */
import './failing-objects.all.test.ts';
