/** Public keys of hosts that rows name as `{ssh.ed25519}` and so on; some are to be refused. */
import { b64, dssLine, ec, ecLine, ed25519Line, edwards, point, rsa, rsaLine } from '../fixtures/ssh-keys.ts';

const rsa2048 = rsa(2048);

export const SSH_KEYS = {
  ed25519: ed25519Line(edwards()),
  rsa: rsaLine(rsa2048),
  ecdsa256: ecLine('nistp256', point(ec('prime256v1'))),
  ecdsa384: ecLine('nistp384', point(ec('secp384r1'))),
  ecdsa521: ecLine('nistp521', point(ec('secp521r1'))),
  short_rsa: rsaLine(rsa(1024)),
  mislabelled: ed25519Line(edwards()).replace('ssh-ed25519', 'ssh-rsa'),
  dsa: dssLine(b64(rsa2048.n)),
};
