export interface BenchOptions {
  /** Takes lines of a report. */
  out: (line: string) => void;
  /** Only operations whose name has this in it. */
  only?: string | undefined;
  /** How many times each side has its turn. */
  rounds?: number | undefined;
  /** The other checkout, to compare with. */
  dir?: string | undefined;
  /** How long the memory is watched. */
  minutes?: number | undefined;
}
