/** Gauges that show the values a process last read from the database. */
import { Gauge } from 'prom-client';

interface Described<T> {
  name: string;
  help: string;
  read: (known: T) => number;
}

/** They have no value until the process has looked, and while it cannot. */
export function knownGauge<T>(described: readonly Described<T>[]) {
  let last: T | undefined;
  const gauges = described.map(
    ({ name, help, read }) =>
      new Gauge({
        name,
        help,
        registers: [],
        collect() {
          this.remove();
          if (last !== undefined) this.set(read(last));
        },
      }),
  );
  return {
    gauges,
    show(known: T | undefined): void {
      last = known;
    },
  };
}
