/** Checks `DATABASE_URL` before pg reads it, and shows it without its password. */

/** Scheme, user and password, host and port, path, the rest. */
const PARTS = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#@]*)([^?#]*)(.*)$/i;

const SEVERAL_HOSTS =
  'must name one host: with a primary and standbys, the address that always leads to the primary, such as a -rw Service or a load balancer';
const UNREADABLE =
  'must be a postgres:// URL; in a user name, password or database name, write / as %2F, ? as %3F, # as %23, @ as %40 and % as %25';

/** What is wrong with the URL, without repeating it, since it may hold a password. */
export function connectionUrlProblem(url: string): string | undefined {
  const parts = PARTS.exec(url);
  if (!parts) return UNREADABLE;
  const [, host = '', path = '', rest = ''] = parts;
  // A / or ? in the password looks like the end of the host, and leaves the @ behind it.
  if (/@/.test(path + rest)) return UNREADABLE;
  const hosts = [host, new URLSearchParams(rest).get('host') ?? ''];
  if (hosts.some((name) => name.includes(','))) return SEVERAL_HOSTS;
  // pg accepts user@/database with the host as a parameter.
  return URL.canParse(url.replace('@/', '@localhost/')) ? undefined : UNREADABLE;
}

/**
 * The URL for each new connection: the latest one while it leads to the same database, perhaps with another password.
 * Otherwise still the first, since a pool must not lead to two databases.
 * @param onMoved called for each URL of another database
 */
export function urlOfSameDatabase(first: string, latest: () => string, onMoved: () => void): () => string {
  let refused: string | undefined;
  return () => {
    const url = latest();
    if (withoutSecrets(url) === withoutSecrets(first)) return url;
    if (url !== refused) onMoved();
    refused = url;
    return first;
  };
}

/** Host, port and database, for messages. */
export function withoutSecrets(url: string): string {
  const [, host = '', path = ''] = PARTS.exec(url) ?? [];
  return host + path;
}
