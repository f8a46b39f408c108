/**
 * npm run picture
 *
 * Writes docs/pictures/reference.png: the API reference in a headless Chromium.
 */
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findChromium, startBrowser } from '../dev/screens/browser.ts';
import { Demo } from './demo-stack.ts';

const FILE = join(import.meta.dirname, '../docs/pictures/reference.png');
const WINDOW = { width: 1100, height: 900 };

async function main(): Promise<number> {
  const chromium = findChromium();
  if (chromium === undefined) {
    process.stderr.write('There is no Chromium on the PATH. Install one, or name it in CHROMIUM_PATH.\n');
    return 1;
  }
  const demo = new Demo({ kubeconfig: undefined, onLoss: (message) => process.stderr.write(`${message}\n`) });
  try {
    await demo.startApi();
    await takePicture(chromium, `${demo.apiUrl}/docs`);
  } finally {
    await demo.stop();
  }
  process.stdout.write(`wrote ${FILE}\n`);
  return 0;
}

async function takePicture(chromium: string, url: string): Promise<void> {
  const browser = await startBrowser(chromium);
  try {
    const page = await browser.newPage({ viewport: WINDOW });
    await page.goto(url);
    await page.locator('.opblock').first().waitFor();
    await mkdir(dirname(FILE), { recursive: true });
    await page.screenshot({ path: FILE, animations: 'disabled' });
  } finally {
    await browser.close();
  }
}

process.exit(await main());
