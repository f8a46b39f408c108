/** TLS certificates: chain and key are read and held against each other, and the key is sealed. */
import { tlsCertificate } from '../../resources/tls-certificate.ts';
import { fits, readChain, readPrivateKey } from '../certificates/chain.ts';
import { fieldsOf } from '../certificates/x509.ts';
import { mount } from '../crud/mount.ts';
import { invalidByRule, refused } from '../errors/errors.ts';

/** The column of the private key, as PKCS #8 in PEM. */
const PRIVATE_KEY = 'private_key';

export const tlsCertificates = mount(tlsCertificate, {
  columns: [PRIVATE_KEY],
  sealed: [PRIVATE_KEY],
  async prepare({ certificate_pem, private_key_pem }, id, { secrets }) {
    const chain = readChain(certificate_pem);
    const key = readPrivateKey(private_key_pem);
    if ('reason' in chain || 'reason' in key) {
      throw refused({
        ...('reason' in chain ? { '/certificate_pem': chain } : {}),
        ...('reason' in key ? { '/private_key_pem': key } : {}),
      });
    }
    const [leaf, { key: privateKey, type }] = [chain.value, key.value];
    if (!(await fits(leaf, key.value))) {
      throw invalidByRule({ '/private_key_pem': 'is not the key of the first certificate in certificate_pem' });
    }
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    return {
      fields: {
        ...fieldsOf(leaf),
        subject_alternative_names: { dns_names: leaf.dnsNames, ips: leaf.ips },
        serial_number: leaf.serialNumber,
        private_key_type: type,
        issued_at: null,
      },
      columns: { [PRIVATE_KEY]: secrets.seal(pem, { table: tlsCertificate.table, id, field: PRIVATE_KEY }) },
    };
  },
});
