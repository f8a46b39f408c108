/** Programs that only some tests need, which are skipped where the program cannot be had. Only for test files. */
import { BinaryUnavailable, ensureBinaries } from '../../dev/control-plane/binaries.ts';
import type { BinaryName } from '../../dev/control-plane/binary-name.ts';

export interface OptionalBinary {
  /** Why there is none, for `skipFor`; undefined if there is. */
  readonly lacks: string | undefined;
  /** @throws BinaryUnavailable if there is none */
  path(): string;
}

/** Finds, fetches or builds the program. */
export async function optionalBinary(name: BinaryName): Promise<OptionalBinary> {
  try {
    const found = await ensureBinaries([name]);
    return { lacks: undefined, path: () => found[name] };
  } catch (error) {
    if (!(error instanceof BinaryUnavailable)) throw error;
    const path = () => {
      throw error;
    };
    return { lacks: error.message, path };
  }
}
