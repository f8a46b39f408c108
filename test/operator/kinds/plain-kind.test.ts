/** What a kind takes from its family, and what it refuses to take. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../../src/client/client.ts';
import { bodyOf, differing, type FamilyCalls } from '../../../src/operator/kinds/external-of-family.ts';
import { familyFields } from '../../../src/operator/kinds/family-fields.ts';
import { plainKind } from '../../../src/operator/kinds/plain-kind.ts';
import { tlsCertificateKind } from '../../../src/operator/kinds/tls-certificate.ts';
import { DigestedText } from '../../../src/operator/managed/declaration/digest.ts';
import { botUser } from '../../../src/resources/bot-user.ts';
import { optionalReference, references } from '../../../src/resources/definition/reference.ts';
import {
  derived,
  type Fields,
  type Resource,
  required,
  resource,
  writeOnly,
} from '../../../src/resources/definition/resource.ts';

const family = <F extends Fields>(fields: F): Resource<F> =>
  resource({
    name: 'thing',
    title: 'Thing',
    prefix: 'th',
    path: '/things',
    collection: 'things',
    tag: 'Things',
    description: 'A thing.',
    fields,
    samples: { least: {}, full: {}, change: {} },
  });

const calls = (): FamilyCalls<{ id: string; uri: string }> => {
  throw new Error('not called');
};
const options = { kind: 'Policy', shortNames: ['po'], calls };

describe('a plain kind', () => {
  test.each([
    ['has a secret', family({ key_pem: writeOnly(z.string()) }), 'the field key_pem is a secret'],
    ['hands out a token', family({ token: derived(z.string().nullable(), 'none') }), 'token is shown only once'],
  ])('is rejected, with the name of the field, if its family %s', (_, given, problem) => {
    expect(() => plainKind<Fields, { id: string; uri: string }>(given, options)).toThrow(
      new RegExp(`^Policy cannot be a plain kind of the family thing: .*${problem}`),
    );
  });

  test('may omit a secret, declare it, or take it from a source', () => {
    const given = family({ key_pem: writeOnly(z.string()) });
    expect(() => plainKind(given, { ...options, sources: ['key_pem'] })).not.toThrow();
    expect(() => plainKind(given, { ...options, omit: ['key_pem'] })).not.toThrow();
    expect(() => plainKind(given, { ...options, spec: { keyPem: z.string() } })).not.toThrow();
  });
});

describe('a field with another form in the API', () => {
  const given = family({
    bot_id: optionalReference([botUser], 'bot', 'A bot.'),
    bot_ids: references([botUser], 'bots', 'Bots.', { max: 7 }),
    target: required(z.object({ host_name: z.string(), weights: z.record(z.string(), z.int()).optional() })),
    pem: required(z.string().max(99), { update: false }),
  });
  const fields = familyFields(given);
  const resolved = {
    botRef: 'bot_1',
    botRefs: ['bot_1', 'bot_2'],
    target: { hostName: 'h', weights: { a_b: 1 } },
    pem: 'text',
  };
  const shown = {
    bot: { id: 'bot_1', uri: 'u' },
    bots: [
      { id: 'bot_1', uri: 'u' },
      { id: 'bot_2', uri: 'u' },
    ],
    target: { host_name: 'h', weights: { a_b: 1 } },
    pem: 'text',
  };

  test('is sent in the form of the API, with the keys of maps unchanged', () => {
    expect(bodyOf(fields, resolved)).toEqual({
      bot_id: 'bot_1',
      bot_ids: ['bot_1', 'bot_2'],
      target: { host_name: 'h', weights: { a_b: 1 } },
      pem: 'text',
    });
  });

  const digested = (text: string) => new DigestedText((other) => other === text);
  test.each([
    ['nothing', resolved, shown, []],
    ['a reference', { ...resolved, botRef: 'bot_2' }, shown, ['botRef']],
    ['a removed reference', { ...resolved, botRef: undefined }, shown, ['botRef']],
    ['the order of references', { ...resolved, botRefs: ['bot_2', 'bot_1'] }, shown, ['botRefs']],
    ['a member', { ...resolved, target: { hostName: 'other' } }, shown, ['target']],
    ['nothing if the digest matches', { ...resolved, pem: digested('text') }, shown, []],
    ['a text with another digest', { ...resolved, pem: digested('other') }, shown, ['pem']],
  ])('differs in %s', (_, desired, observed, members) => {
    expect(differing(fields, desired, observed)).toEqual(members);
  });
});

test('immutable fields are named as in the spec', () => {
  const external = tlsCertificateKind.external(createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k' }));
  const spec = {
    secretRef: { 'tls.crt': 'new', 'tls.key': 'key' },
    deletionPolicy: 'Delete',
    managementPolicy: 'Manage',
  };
  const remote = { id: 'cert_1', uri: 'https://api.example.com/tls_certificates/cert_1', certificate_pem: 'old' };
  expect(external.immutableChanges(spec as never, remote as never)).toEqual(['secretRef["tls.crt"]']);
  expect(external.replacingChanges(spec as never, remote as never)).toEqual(['secretRef["tls.crt"]']);
});
