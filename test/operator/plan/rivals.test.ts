import { expect, test } from 'vitest';
import { tlsEdgeKind } from '../../../src/operator/kinds/tls-edge.ts';
import { tlsEdgeModulesKind } from '../../../src/operator/kinds/tls-edge-modules.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { readSpec } from '../../../src/operator/managed/spec.ts';
import { Rivals } from '../../../src/operator/plan/rivals.ts';
import { object } from '../objects.ts';

const [ID, OTHER] = ['edgtls_01m7yvm3eyf20vnt1006h45zq2', 'edgtls_01m7yvm3eyf20vnt1006h45zq3'];
const scope = async () => ({ resources: [], nextSequence: 1 });
const refersTo = (tlsEdgeRef: object) => ({ spec: { tlsEdgeRef } });
const old = (fields: Partial<KubeObject>) =>
  object({ name: 'old', created: '2026-11-21T09:00:00Z', ...fields }, { externalId: ID });

const spec = readSpec(tlsEdgeKind.spec, object());
const among = (...existing: KubeObject[]) => new Rivals({ existing: async () => existing, mayAdopt: () => true });
const claim = (rivals: Rivals, planned: KubeObject, resources: { id: string; sequence: number }[] = []) =>
  rivals.mustHaveNone(tlsEdgeKind, { scope: async () => ({ resources, nextSequence: 2 }) }, planned, spec);
/** As it is planned before the cluster has it. */
const toCome = (name: string, annotations: { adopt?: string; externalId?: string } = { adopt: ID }) =>
  object({ name, uid: '', version: 0, created: '' }, annotations);

test('of what the cluster has, the older object keeps a claim', async () => {
  const [older, younger] = [old({}), object({ name: 'younger' }, { adopt: ID })];
  await expect(claim(among(older, younger), younger)).rejects.toThrow('claimed by the TLSEdge ns/old');
  await expect(claim(among(older, younger), older)).resolves.toBeUndefined();
  await expect(claim(among(older), toCome('new'))).rejects.toThrow('ns/old');
  await expect(claim(among(older), toCome('new', { adopt: OTHER }))).resolves.toBeUndefined();
});

test('of objects that are yet to be created, the one that asks first has the claim', async () => {
  const rivals = among();
  await claim(rivals, toCome('first'));
  await expect(claim(rivals, toCome('second'))).rejects.toThrow('ns/first');
});

test('one that is paused and yet to be created claims what its annotations name, which of modules nothing tells', async () => {
  const rivals = among();
  await rivals.enter(tlsEdgeKind, toCome('paused'));
  await expect(claim(rivals, toCome('new'))).rejects.toThrow('ns/paused');
  const modules = among();
  await modules.enter(tlsEdgeModulesKind, { ...toCome('paused', { externalId: ID }), ...refersTo({ id: ID }) });
  const planned = { ...toCome('new', {}), ...refersTo({ id: ID }) };
  const referring = { ...spec, tlsEdgeRef: ID };
  const asked = modules.mustHaveNone(tlsEdgeModulesKind, { scope }, planned, referring);
  await expect(asked).resolves.toBeUndefined();
});
