/** With a thousand of them. */
import './failing-objects.test.ts';
