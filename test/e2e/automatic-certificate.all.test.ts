/** A ReservedDomain with a policy, from the manifest to a certificate of Pebble. */
import { afterAll, describe, expect, test } from 'vitest';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { noAuthority, startInstallation } from '../api/issuance/installation.ts';
import { skipFor } from '../skip.ts';
import { manifest, ours } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const DOMAINS = ours('reserveddomains');
const unsuitable = process.env.TEST_PODS ? 'the API is in a Pod, whose settings are those of the suite' : noAuthority;

describe('a domain with a policy', skipFor(unsuitable), async () => {
  if (unsuitable !== undefined) return;
  const installation = await startInstallation();
  afterAll(installation.stop);
  const stack = await startStack({ prefix: 'issued', api: installation.settings });

  test('says which record it lacks, and has a certificate once it is there', { timeout: 120_000 }, async () => {
    const certificateManagementPolicy = { authority: 'letsencrypt', privateKeyType: 'ecdsa' };
    await stack.apply(manifest('ReservedDomain', 'app', { domain: 'app.users.example', certificateManagementPolicy }));
    const { status } = await stack.ready(DOMAINS, 'app');
    const target = String(status.cnameTarget);
    const says = (type: string, expected: object) =>
      eventually(async () => {
        const seen = await stack.reconciled(DOMAINS, 'app');
        expect(findCondition(seen.status.conditions ?? [], type)).toMatchObject(expected);
      }, 60_000);
    const missing = `self-check: app.users.example has no CNAME record; it needs a CNAME record to ${target}`;
    await says('DNSConfigured', { status: 'False', reason: 'DNSError', message: missing });
    await says('CertificateReady', { status: 'False', reason: 'DNSError', message: missing });

    installation.users.set('app.users.example', { type: 'CNAME', data: target });
    // Instead of a wait for the next look, which may be a minute away, as may be that of the operator.
    await stack.sql('update reserved_domains set certificate_job_due_at = null');
    await says('CertificateReady', {
      status: 'True',
      reason: 'Issued',
      message: expect.stringMatching(/^In use until 20/),
    });
    await says('DNSConfigured', { status: 'True', reason: 'Checked' });
    await eventually(async () =>
      expect((await stack.events('app')).map(({ reason, type }) => `${type} ${reason}`)).toEqual([
        'Normal Created',
        'Warning CertificateFailed',
        'Normal CertificateIssued',
      ]),
    );
    // The certificate is the service's: nothing is corrected.
    await stack.reconciled(DOMAINS, 'app');
    expect((await stack.see(DOMAINS, 'app')).status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Synced', status: 'True' }),
    );
    await stack.remove(DOMAINS, 'app');
  });
});
