// MB/s in Chromium's worker, from a File to the finished report: node tests/browser/bench.mjs FILE…
//
// Past the page, so that only reading is measured.
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { inputWith, readInWorker } from './protocol.mjs';
import { launchBrowser, openPage, startSite } from './support.mjs';

const ROUNDS = 5;

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error('usage: node tests/browser/bench.mjs FILE…');
  process.exit(2);
}
const site = await startSite();
const browser = await launchBrowser();
try {
  for (const path of files) {
    const page = await openPage(browser, site.url);
    const input = await inputWith(page, [path]);
    // As after a page has been looked at for a moment.
    await page.waitForTimeout(2000);
    const runs = [];
    for (let round = 0; round < ROUNDS; round += 1) runs.push(await input.evaluate(readInWorker));
    const megabytes = statSync(path).size / 1e6;
    const first = runs[0];
    runs.sort((a, b) => a.all - b.all);
    const best = runs[0];
    const middle = runs[Math.floor(ROUNDS / 2)];
    const speed = (run) => `${(megabytes / (run.all / 1000)).toFixed(0)} MB/s`;
    console.log(
      `${basename(path).padEnd(16)} ${megabytes.toFixed(0).padStart(5)} MB  median ${speed(middle)}, best ${speed(best)}, opened first ${speed(first)}, first report after ${best.first.toFixed(0)} ms`,
    );
    await page.context().close();
  }
} finally {
  await browser.close();
  await site.close();
}
