/** TLS certificates: checks that chain and key belong together, and seals the key. */
import { z } from 'zod';
import { tlsCertificate } from '../../resources/tls-certificate.ts';
import { fits, type PrivateKey, readChain, readPrivateKey } from '../certificates/chain.ts';
import { fieldsOf } from '../certificates/x509.ts';
import { mount } from '../crud/mount.ts';
import { invalidByRule, refused } from '../errors/errors.ts';
import type { Secrets } from '../secrets/sealing.ts';

/** The column of the private key, as PKCS #8 in PEM. */
const PRIVATE_KEY = 'private_key';
const stored = z.object({ [PRIVATE_KEY]: z.string() });

const { table } = tlsCertificate;
const locationOf = (id: string) => ({ table, id, field: PRIVATE_KEY });
const pkcs8 = ({ key }: PrivateKey) => key.export({ type: 'pkcs8', format: 'pem' }).toString();

export const tlsCertificates = mount(tlsCertificate, {
  columns: [PRIVATE_KEY],
  sealed: [PRIVATE_KEY],
  prepare: (input, id, { secrets }) => preparedCertificate(input, id, secrets),
  async isSecret({ api, tx }, id, sent) {
    // Text that the field would refuse is not a stored key, and could take long to read.
    if (!tlsCertificate.fields.private_key_pem.input.safeParse(sent).success) return false;
    const key = readPrivateKey(sent);
    if ('reason' in key) return false;
    const text = `select ${PRIVATE_KEY} from ${table} where id = $1`;
    const [row] = await tx.query({ name: `${table}.private_key`, text, values: [id] });
    return api.secrets.open(stored.parse(row)[PRIVATE_KEY], locationOf(id)) === pkcs8(key.value);
  },
});

/** The fields and columns that follow from a chain and its key. @throws ApiError */
export async function preparedCertificate(
  { certificate_pem, private_key_pem }: { certificate_pem: string; private_key_pem: string },
  id: string,
  secrets: Secrets,
) {
  const chain = readChain(certificate_pem);
  const key = readPrivateKey(private_key_pem);
  if ('reason' in chain || 'reason' in key) {
    throw refused({
      ...('reason' in chain ? { '/certificate_pem': chain } : {}),
      ...('reason' in key ? { '/private_key_pem': key } : {}),
    });
  }
  const { leaf, notAfter } = chain.value;
  if (!(await fits(leaf, key.value))) {
    throw invalidByRule({ '/private_key_pem': 'is not the key of the first certificate in certificate_pem' });
  }
  return {
    fields: {
      ...fieldsOf(leaf),
      chain_not_after: notAfter,
      subject_alternative_names: { dns_names: leaf.dnsNames, ips: leaf.ips },
      serial_number: leaf.serialNumber,
      private_key_type: key.value.type,
      issued_at: null,
    },
    columns: { [PRIVATE_KEY]: secrets.seal(pkcs8(key.value), locationOf(id)) },
  };
}
