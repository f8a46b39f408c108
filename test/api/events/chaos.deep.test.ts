/** For ten minutes. */
import './chaos.all.test.ts';
