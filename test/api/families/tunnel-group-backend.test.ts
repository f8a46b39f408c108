import { describe, expect, test } from 'vitest';
import { MAX_LABELS, tunnelGroupBackend } from '../../../src/resources/tunnel-group-backend.ts';
import { BASE, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const PATH = '/backends/tunnel_group';
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'v']));

describe('a tunnel-group backend', () => {
  test('is created, shown, listed, changed and deleted', async () => {
    const sent = { description: 'd', metadata: 'm', labels: { app: 'web', 'example.com/tier': 'a:b' } };
    const created = (await admin.post(PATH, sent)).as(tunnelGroupBackend.view);
    expect(created).toEqual({ ...sent, id: created.id, uri: created.uri, created_at: created.created_at });
    expect(created.id).toMatch(/^bkdtg_/);
    expect(created.uri).toBe(`${BASE}${PATH}/${created.id}`);
    expect((await admin.get(`${PATH}/${created.id}`)).as(tunnelGroupBackend.view)).toEqual(created);
    expect(JSON.parse((await admin.get(PATH)).text).backends).toEqual([created]);
    const changed = await admin.patch(`${PATH}/${created.id}`, { labels: many(MAX_LABELS) });
    expect(changed.as(tunnelGroupBackend.view)).toEqual({ ...created, labels: many(MAX_LABELS) });
    expect((await admin.delete(`${PATH}/${created.id}`)).status).toBe(204);
    expect((await admin.get(`${PATH}/${created.id}`)).status).toBe(404);
  });

  test.each([
    ['/labels', {}],
    ['/labels', { labels: {} }],
    ['/labels', { labels: null }],
    ['/labels', { labels: ['app=web'] }],
    ['/labels', { labels: many(MAX_LABELS + 1) }],
    ['/labels/app', { labels: { app: '*' } }],
    ['/labels/app', { labels: { app: '' } }],
    ['/labels/app', { labels: { app: 1 } }],
    ['/labels/a b', { labels: { 'a b': 'x' } }],
    ['/labels/', { labels: { '': 'x' } }],
    ['/labels/*', { labels: { '*': 'x' } }],
    [`/labels/${'k'.repeat(256)}`, { labels: { ['k'.repeat(256)]: 'x' } }],
    ['/description', { labels: { a: 'b' }, description: 'x'.repeat(256) }],
  ])('a wrong %s is refused by name', async (pointer, body) => {
    const { error } = await admin.post(PATH, body);
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details).toHaveProperty([pointer]);
  });
});
