/** All scenarios at all points. */
import './kill-points.all.test.ts';
