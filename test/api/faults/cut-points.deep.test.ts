/** At every message. */
import './cut-points.all.test.ts';
