/** With every fault for every call. */
import './call-faults.all.test.ts';
