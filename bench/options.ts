export interface BenchOptions {
  /** Receives the lines of a report. */
  out: (line: string) => void;
  /** Only operations whose name contains this. */
  only?: string | undefined;
  /** How many turns each side gets. */
  rounds?: number | undefined;
  /** How long memory is monitored. */
  minutes?: number | undefined;
}
