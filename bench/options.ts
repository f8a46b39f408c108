export interface BenchOptions {
  /** Receives the lines of the report. */
  out: (line: string) => void;
  /** Only operations whose name contains this. */
  only?: string | undefined;
  /** The number of turns of each side. */
  rounds?: number | undefined;
  /** The commit or checkout to compare with. */
  against?: string | undefined;
  /** How long to observe the memory. */
  minutes?: number | undefined;
}
