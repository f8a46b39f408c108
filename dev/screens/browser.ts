/** This machine's headless Chromium, for checks that need a browser. It is never downloaded. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

/** CHROMIUM_PATH, or the first that is on the PATH; undefined if there is none. */
export function findChromium({ CHROMIUM_PATH, PATH = '' }: NodeJS.ProcessEnv = process.env): string | undefined {
  if (CHROMIUM_PATH) return CHROMIUM_PATH;
  const folders = PATH.split(delimiter).filter((folder) => folder !== '');
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

export function startBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
