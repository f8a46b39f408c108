/** Cuts at every message. */
import './cut-points.all.test.ts';
