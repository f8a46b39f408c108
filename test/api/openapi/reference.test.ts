/** The API reference, opened in a browser. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { findChromium, startBrowser } from '../../../dev/screens/browser.ts';
import { skipFor } from '../../skip.ts';
import { ADMIN_KEY, startTestApi } from '../harness.ts';
import { document } from './openapi-check.ts';

const chromium = findChromium();
const noChromium =
  chromium === undefined ? 'there is no Chromium on the PATH, and CHROMIUM_PATH names none' : undefined;

const api = await startTestApi();

describe('/docs in a browser', skipFor(noChromium), () => {
  let page: Page;
  let problems: string[];

  beforeAll(async () => {
    const browser = await startBrowser(chromium ?? '');
    const url = await api.app.listen({ host: '127.0.0.1', port: 0 });
    page = await browser.newPage();
    problems = problemsOf(page, url);
    await page.goto(`${url}/docs`);
    await page.locator('.opblock').first().waitFor();
    return () => browser.close();
  });

  test('shows every operation under the name of this project, without naming the framework', async () => {
    const { title } = z.object({ title: z.string() }).parse(document.info);
    expect(await page.title()).toBe(`${title} · tunnel-operator`);
    expect(await page.locator('h1, h2').first().innerText()).toContain(title);
    expect(await page.locator('.opblock').count()).toBe(operations().length);
    expect(await page.locator('.topbar').count()).toBe(0);
    expect(await page.locator('body').innerText()).not.toMatch(/swagger|smartbear/i);
    const icons = await page.locator('link[rel=icon]').evaluateAll((links) => links.map((link) => link.outerHTML));
    expect(icons).toEqual([expect.stringContaining('image/svg+xml')]);
  });

  test('lets the reader try an operation with a key', async () => {
    await page.getByRole('button', { name: 'Authorize' }).first().click();
    const dialog = page.locator('.dialog-ux');
    await dialog.getByRole('textbox').fill(ADMIN_KEY);
    await dialog.getByRole('button', { name: 'Apply credentials' }).click();
    await dialog.getByRole('button', { name: 'Close' }).last().click();

    const operation = page.locator('.opblock-post', { has: page.locator('[data-path="/ip_policies"]') });
    await operation.locator('.opblock-summary').click();
    // The operation has an address that can be shared.
    expect(new URL(page.url()).hash).toMatch(/^#\/IP%20policies\/createIpPolicy$/);
    await operation.getByRole('button', { name: 'Try it out' }).click();
    await operation.locator('textarea').first().fill('{"description": "from the reference"}');
    await operation.getByRole('button', { name: 'Execute' }).click();
    await expect
      .poll(() => operation.locator('.live-responses-table .response-col_status').last().innerText())
      .toMatch(/^201/);
    expect(await api.rows('SELECT description FROM ip_policies')).toEqual([{ description: 'from the reference' }]);
  });

  test('contacts no other host and causes no errors or warnings', () => {
    expect(problems).toEqual([]);
  });
});

function operations(): string[] {
  const paths = z.record(z.string(), z.record(z.string(), z.unknown())).parse(document.paths);
  const methods = ['get', 'post', 'put', 'patch', 'delete'];
  return Object.values(paths).flatMap((item) => Object.keys(item).filter((key) => methods.includes(key)));
}

/** Collects errors and warnings of the browser, and requests to other hosts. */
function problemsOf(page: Page, url: string): string[] {
  const found: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) found.push(message.text());
  });
  page.on('pageerror', (error) => found.push(error.message));
  page.on('requestfailed', (request) => found.push(`${request.url()}: ${request.failure()?.errorText}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) found.push(request.url());
  });
  return found;
}
