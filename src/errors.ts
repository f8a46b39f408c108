/** Codes and messages of errors of Node, the system or a library. */

/** @returns the code of an error of Node or the system, such as EADDRINUSE */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** If no address of a host name answers, Node throws one AggregateError without a message, with an error per address. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error.message;
}
