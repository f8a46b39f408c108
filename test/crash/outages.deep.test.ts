/** With more outages, before and after the writes take effect. */
import './outages.all.test.ts';
