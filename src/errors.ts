/** What errors say, of Node, the system or a library. */

/** @returns the text of the error that Node or the system gave, such as EADDRINUSE */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Of a name with several addresses, none of which answers, Node gives an error for each, below one that says nothing. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error.message;
}
