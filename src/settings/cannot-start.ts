/** Failed starts that the user can fix: one line that names the setting, and no stack trace. */
import { codeOf } from '../errors.ts';

export class CannotStart extends Error {
  override readonly name = 'CannotStart';
}

interface Address {
  host: string;
  port: number;
  /** The variables that set them. */
  names: { host: string; port: string };
}

/** The error to throw when a server could not listen. It names the setting if that is to blame. */
export function cannotListen(error: unknown, { host, port, names }: Address): unknown {
  const code = codeOf(error);
  const fail = (message: string) => new CannotStart(`${message} (${code})`, { cause: error });
  switch (code) {
    case 'EADDRINUSE':
      return fail(`${names.port}: port ${port} of ${host} is in use by another process`);
    case 'EACCES':
    case 'EPERM':
      return fail(`${names.port}: this user may not listen on port ${port}`);
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return fail(`${names.host}: "${host}" is not an address of this machine`);
    default:
      return error;
  }
}
