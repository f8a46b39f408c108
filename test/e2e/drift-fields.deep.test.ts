/** Every field by itself. */
import './drift-fields.test.ts';
