/** The cluster to connect to, and the identity to use there. */
import { readFile } from 'node:fs/promises';
import { delimiter } from 'node:path';
import { type ConfigOptions, KubeConfig, makeAbsolutePath, type User } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { z } from 'zod';

/** @param file default: the user's own file, or the service account of the Pod */
export function loadKubeConfig(file: string | undefined): KubeConfig {
  const config = new OwnKubeConfig();
  if (file === undefined) {
    config.loadFromDefault();
    return config;
  }
  // Only the variable may hold several paths.
  const files = file === process.env.KUBECONFIG ? file.split(delimiter).filter((path) => path !== '') : [file];
  for (const path of files) {
    const one = new OwnKubeConfig();
    one.loadFromFile(path);
    config.mergeConfig(one);
  }
  return config;
}

/** The same cluster and identity; what a credential program returned earlier is forgotten. */
export function withoutCachedTokens(config: KubeConfig): KubeConfig {
  const copy = new OwnKubeConfig();
  copy.loadFromOptions(config);
  return copy;
}

const kubeconfigUsers = z.object({
  users: z
    .array(z.object({ name: z.string(), user: z.object({ tokenFile: z.string().optional() }).nullish() }))
    .nullish(),
});
const inClusterUser = z.object({ authProvider: z.object({ config: z.object({ tokenFile: z.string() }) }) });
const tokenFileUser = z.object({
  authProvider: z.object({ name: z.literal('token-file'), config: z.object({ path: z.string() }) }),
});

const HTTP1 = { allowH2: false };

/**
 * Differs from client-node's in three ways:
 * - It reads tokens from their file whenever they are needed. client-node 2.0.1 does not know the member `tokenFile` of a
 *   user, who would be anonymous, and keeps the token of a Pod for a minute, even if the API server refuses it.
 * - It connects to a server without TLS, such as `kubectl proxy`, as kubectl does. client-node demands `skipTLSVerify` for it.
 * - It connects by HTTP/1.1: undici's HTTP/2 takes more processor time (docs/decisions/0002).
 */
export class OwnKubeConfig extends KubeConfig {
  constructor() {
    super();
    this.addAuthenticator(tokenFileAuthenticator);
  }

  override loadFromString(text: string, options?: Partial<ConfigOptions>): void {
    super.loadFromString(text, options);
    const users = kubeconfigUsers.safeParse(parse(text)).data?.users ?? [];
    const paths = new Map(users.map(({ name, user }) => [name, user?.tokenFile]));
    this.#setTokenFiles(({ name }) => paths.get(name));
  }

  override makePathsAbsolute(folder: string): void {
    super.makePathsAbsolute(folder);
    this.#setTokenFiles((user) => {
      const path = tokenFileOf(user);
      return path && makeAbsolutePath(folder, path);
    });
  }

  override loadFromCluster(pathPrefix?: string): void {
    super.loadFromCluster(pathPrefix);
    this.#setTokenFiles((user) => inClusterUser.safeParse(user).data?.authProvider.config.tokenFile);
  }

  override createDispatcherOptions(
    ...given: Parameters<KubeConfig['createDispatcherOptions']>
  ): ReturnType<KubeConfig['createDispatcherOptions']> {
    const [cluster] = given;
    if (cluster?.server.startsWith('http:') && !cluster.proxyUrl) return { type: 'none' };
    const options = super.createDispatcherOptions(...given);
    if (options.type === 'none') return options;
    if (options.type === 'agent') return { ...options, connect: { ...options.connect, ...HTTP1 } };
    return { ...options, requestTls: { ...options.requestTls, ...HTTP1 } };
  }

  /** A token file takes precedence over a token, as in client-go. */
  #setTokenFiles(pathFor: (user: User) => string | undefined): void {
    this.users = this.users.map((user) => {
      const path = pathFor(user);
      if (path === undefined) return user;
      const { token: _, ...others } = user;
      return { ...others, authProvider: { name: 'token-file', config: { path } } };
    });
  }
}

function tokenFileOf(user: User): string | undefined {
  return tokenFileUser.safeParse(user).data?.authProvider.config.path;
}

const tokenFileAuthenticator: Parameters<KubeConfig['addAuthenticator']>[0] = {
  isAuthProvider: (user) => tokenFileOf(user) !== undefined,
  async applyAuthentication(user, options) {
    const path = tokenFileOf(user);
    const token = path && (await readFile(path, 'utf8')).trim();
    // Without a token, the request would be that of an anonymous user.
    if (!token) throw new Error(`the token file ${path} is empty`);
    options.headers = { ...options.headers, Authorization: `Bearer ${token}` };
  },
};
