/** Public keys of hosts that rows name as `{ssh.ed25519}` and so on. */
import { ec, ecLine, ed25519Line, edwards, point, rsa, rsaLine } from '../../dev/fixtures/ssh-keys.ts';

export const SSH_KEYS = {
  ed25519: ed25519Line(edwards()),
  rsa: rsaLine(rsa(2048)),
  ecdsa256: ecLine('nistp256', point(ec('prime256v1'))),
  ecdsa384: ecLine('nistp384', point(ec('secp384r1'))),
  ecdsa521: ecLine('nistp521', point(ec('secp521r1'))),
};
