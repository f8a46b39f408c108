/**
 * `DATABASE_URL` as libpq takes it: with several hosts, and with the kind of server that is wanted of them. pg knows
 * neither, so each host gets a URL of its own, which pg reads with everything else that is in it.
 */

/** What a server must be: of any kind, one that takes writes, or one that is no standby. */
export type Wanted = 'any' | 'read-write' | 'primary';

export interface Server {
  readonly url: string;
  /** Host and port as they were given, for messages. */
  readonly name: string;
}

export interface ConnectionUrl {
  /** One for each host, in the order in which they are given. */
  readonly servers: readonly Server[];
  readonly wanted: Wanted;
}

/** Says what is wrong, without the URL, which may hold a password. */
export class BadConnectionUrl extends Error {
  override readonly name = 'BadConnectionUrl';
}

/** Scheme, user and password, hosts, path, parameters, fragment. */
const PARTS = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#@]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/i;

/** Parameters of people's words. */
const MAY_HAVE_AT = /^(?:user|password|options|application_name|fallback_application_name)=/;

/** @throws BadConnectionUrl */
export function readConnectionUrl(text: string): ConnectionUrl {
  const [, scheme = '', user = '', authority = '', path = '', query = '', fragment = ''] = PARTS.exec(text) ?? [];
  // Of a password with such a character the rest would be taken for a path, and shown as one.
  const isCut = /@/.test(path + fragment) || query.split('&').some((one) => /@/.test(one) && !MAY_HAVE_AT.test(one));
  const parameters = new URLSearchParams(query);
  const compose = (host: string, its: URLSearchParams) => `${scheme}${user}${host}${path}?${its}`;
  // As in libpq, hosts among the parameters win over those in front of the path.
  const servers = parameters.has('host')
    ? ofParameters(parameters).map(({ name, its }) => ({ name, url: compose(authority || 'localhost', its) }))
    : authority.split(',').map((name) => ({ name, url: compose(name, parameters) }));
  const [only, another] = servers;
  const isComplete = another === undefined || servers.every(({ name }) => !/^(?::\d*)?$/.test(name));
  if (isCut || !only || !isComplete || !servers.every(({ url }) => URL.canParse(url)))
    throw new BadConnectionUrl(
      'must be a postgres:// URL, with several hosts as postgres://user@host1:5432,host2:5432/database; in a user name, password or name of the database, write / as %2F, ? as %3F, # as %23, @ as %40 and % as %25',
    );
  return {
    servers: another ? servers : [{ ...only, url: text }],
    wanted: wantedOf(parameters, servers.length),
  };
}

/** @returns the address as a message may show it */
export function withoutSecrets(url: string): string {
  const [, , , authority, path] = PARTS.exec(url) ?? [];
  return `${authority ?? ''}${path ?? ''}`;
}

/** One port is for all hosts; else each has its own. */
function ofParameters(parameters: URLSearchParams): { name: string; its: URLSearchParams }[] {
  const hosts = parameters.get('host')?.split(',') ?? [];
  const ports = parameters.get('port')?.split(',') ?? [];
  if (ports.length > 1 && ports.length !== hosts.length)
    throw new BadConnectionUrl('parameter port must be one port, or as many as there are hosts');
  return hosts.map((host, index) => {
    const port = ports[index] ?? ports[0];
    const its = new URLSearchParams(parameters);
    its.set('host', host);
    if (port !== undefined) its.set('port', port);
    return { name: port === undefined ? host : `${host}:${port}`, its };
  });
}

/**
 * Without the parameter, a single server is used whatever it is. libpq takes several as lightly; but this program writes,
 * and whoever names several servers means the one that is the primary at the time.
 */
function wantedOf(parameters: URLSearchParams, hosts: number): Wanted {
  const wanted = parameters.get('target_session_attrs') ?? (hosts > 1 ? 'read-write' : 'any');
  if (wanted === 'any' || wanted === 'read-write' || wanted === 'primary') return wanted;
  throw new BadConnectionUrl(
    'parameter target_session_attrs must be any, read-write or primary: nothing can be written to a standby',
  );
}
