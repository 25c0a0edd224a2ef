// Exact numbers of a generated 2.5 GB trace in the page: `make test-big`. Too large for the regular tests.
import assert from 'node:assert/strict';
import { mkdir, rm } from 'node:fs/promises';
import { checkTotals, makeTrace } from './made-trace.mjs';
import { OUTPUT, launchBrowser, openPage, startSite } from './support.mjs';

const path = `${OUTPUT}/big.json`;
const gigabytes = Number(process.env.GIGABYTES ?? 2.5);
await mkdir(OUTPUT, { recursive: true });
const site = await startSite();
const browser = await launchBrowser();
try {
  const made = await makeTrace(path, gigabytes * 1e9);
  console.log(`${gigabytes} GB, ${made.nEvents.toLocaleString('en-US')} events`);
  const page = await openPage(browser, site.url);
  const start = performance.now();
  await page.getByTestId('file-input').setInputFiles(path);
  await page.locator('.file-head').waitFor({ timeout: 300_000 });
  console.log(`parsed in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  await checkTotals(page, made);
  assert.deepEqual(page.console, []);
  console.log('big: the numbers are exact');
} finally {
  await rm(path, { force: true });
  await browser.close();
  await site.close();
}
