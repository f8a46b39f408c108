import { describe, expect, test } from 'vitest';
import { sshHostCertificateKind } from '../../../src/operator/kinds/ssh-host-certificate.ts';
import { tunnelCredentialKind } from '../../../src/operator/kinds/tunnel-credential.ts';
import { readSpec } from '../../../src/operator/managed/declaration/spec.ts';
import { object } from '../objects.ts';

const message = 'must be a duration of at most 10 years (87600h), such as 720h, 90s or 1h30m, with each unit once';

describe('a duration', () => {
  test.each(['1d', '30 days', '1h 30m', '', '-1h', '87601h', '1.2345h'])(
    'cannot be %j; the error names the field',
    (text) => {
      const [rotating, renewed] = [{ rotation: { interval: text, overlap: text } }, { renewBefore: text }];
      expect(() => readSpec(tunnelCredentialKind.spec, object({ spec: rotating }))).toThrow(
        `spec.rotation.interval: ${message}; spec.rotation.overlap: ${message}`,
      );
      expect(() => readSpec(sshHostCertificateKind.spec, object({ spec: renewed }))).toThrow(
        `spec.renewBefore: ${message}`,
      );
    },
  );

  test.each(['90s', '1h30m', '1.5h', '250ms', '0s', '87600h'])('can be %s', (text) => {
    const spec = { rotation: { interval: text } };
    expect(readSpec(tunnelCredentialKind.spec, object({ spec }))).toMatchObject(spec);
  });
});
