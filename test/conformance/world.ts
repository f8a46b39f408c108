/** What the rows are played on: an API with its callers, and the values that placeholders of every row may name. */
import { BASE, type Caller, startTestApi, type TestApi } from '../api/harness.ts';
import { KeyUsageFlags, makeCertificate } from '../api/x509.ts';
import type { Values } from './play.ts';
import type { Role } from './row.ts';
import { SSH_KEYS } from './ssh-keys.ts';

export interface World {
  readonly api: TestApi;
  readonly callers: Readonly<Record<Role, Caller>>;
  /** For one row: `{unique}` is another one for each. */
  values(): Values;
}

export async function createWorld(options: { bodyLimit?: number } = {}): Promise<World> {
  const api = await startTestApi(options);
  const [user, bot] = await Promise.all([api.newUser(), api.newBot()]);
  const constant = {
    base: BASE,
    admin: { id: api.admin.id },
    user: { id: user.id },
    bot: { id: bot.id },
    pem: await certificates(),
    ssh: SSH_KEYS,
  };
  let count = 0;
  return {
    api,
    callers: { admin: api.admin, user, bot, anonymous: api.anonymous },
    values: () => ({ ...constant, unique: `u${++count}` }),
  };
}

/** Made anew, so that none expires. */
async function certificates() {
  const [ca, bare, leaf, other, intermediate] = await Promise.all([
    makeCertificate({
      subject: 'CN=Device CA',
      usages: KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign,
      purposes: ['1.3.6.1.5.5.7.3.2'],
    }),
    makeCertificate({ subject: 'O=No common name' }),
    makeCertificate({ subject: 'CN=app.example.com', ca: false, names: [{ type: 'dns', value: 'app.example.com' }] }),
    makeCertificate({ subject: 'CN=other.example.com', ca: false }),
    makeCertificate({ subject: 'CN=Intermediate' }),
  ]);
  const below = await makeCertificate({ subject: 'CN=below.example.com', ca: false, issuer: intermediate });
  return {
    ca: ca.pem,
    ca_without_name: bare.pem,
    leaf: leaf.pem,
    leaf_key: leaf.keyPem,
    other_key: other.keyPem,
    chain: below.pem + intermediate.pem,
    chain_key: below.keyPem,
    wrong_chain: below.pem + ca.pem,
  };
}
