// A trace of 100 MB, which several workers read: its exact numbers, read off the page.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { after, before } from 'node:test';
import { gzipSync } from 'node:zlib';
import { checkTotals, makeTrace } from './made-trace.mjs';
import { OUTPUT, pageTests, siteAndBrowser, waitUntilReady } from './support.mjs';

const given = siteAndBrowser();
const PLAIN = `${OUTPUT}/100-megabytes.json`;
const PACKED = `${PLAIN}.gz`;
let made;

before(async () => {
  await mkdir(OUTPUT, { recursive: true });
  made = await makeTrace(PLAIN, 100e6);
  await writeFile(PACKED, gzipSync(await readFile(PLAIN), { level: 1 }));
});
after(() => Promise.all([rm(PLAIN, { force: true }), rm(PACKED, { force: true })]));

const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');

const largeTest = pageTests(given);

largeTest('100 MB: the numbers are exact', async (page) => {
  await page.getByTestId('file-input').setInputFiles(PLAIN);
  await checkTotals(page, made);
  await page.getByRole('navigation', { name: 'Reports' }).getByRole('button', { name: 'Longest slices', exact: true }).click();
  // Arguments are read back from the file.
  await panel(page).locator('.report:not([hidden]) tbody').filter({ hasText: 'External id' }).first().waitFor();
});

largeTest('100 MB, packed: the numbers are the same', async (page) => {
  await page.getByTestId('file-input').setInputFiles(PACKED);
  await checkTotals(page, made);
});

for (const [path, what] of [[PLAIN, 'reads'], [PACKED, 'unpacks']]) {
  largeTest(`a worker that ${what} for another may end: the numbers are the same`, async (page) => {
    await page.addInitScript(() => {
      globalThis.workers = [];
      globalThis.Worker = class extends globalThis.Worker {
        constructor(...given) {
          super(...given);
          globalThis.workers.push(this);
        }
      };
    });
    await page.reload();
    await waitUntilReady(page);
    await page.getByTestId('file-input').setInputFiles(path);
    await panel(page).locator('.reading').waitFor();
    // The first worker reads, the others help.
    await page.evaluate(() => {
      for (const worker of globalThis.workers.slice(1)) {
        worker.terminate();
        worker.dispatchEvent(new ErrorEvent('error', { message: 'unreachable executed', cancelable: true }));
      }
    });
    await checkTotals(page, made);
  });
}
