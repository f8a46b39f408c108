/** With every fault for every call. */
import './call-faults.test.ts';
