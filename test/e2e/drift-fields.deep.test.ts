/** Every field by itself. */
import './drift-fields.all.test.ts';
