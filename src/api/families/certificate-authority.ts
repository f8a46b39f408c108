/** Certificate authorities: their PEM is read once, when they are created. */
import { certificateAuthority } from '../../resources/certificate-authority.ts';
import { readAuthority } from '../certificates/authority.ts';
import { fieldsOf } from '../certificates/x509.ts';
import { mount } from '../crud/mount.ts';
import { refused } from '../errors/errors.ts';

export const certificateAuthorities = mount(certificateAuthority, {
  draft(_, { ca_pem }) {
    const read = readAuthority(ca_pem);
    if ('reason' in read) throw refused({ '/ca_pem': read });
    return { fields: fieldsOf(read.value) };
  },
});
