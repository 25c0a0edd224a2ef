// A trace of 100 MB, parsed by several workers: its exact numbers on the page, and passing a part of it to Perfetto.
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { after, before } from 'node:test';
import { gzipSync } from 'node:zlib';
import { checkTotals, makeTrace } from './made-trace.mjs';
import { OUTPUT, givenToPerfetto, pageTests, showReport, siteAndBrowser, slicesIn, standInForPerfetto, waitUntilReady } from './support.mjs';

const given = siteAndBrowser();
const PLAIN = `${OUTPUT}/100-megabytes.json`;
const PACKED = `${PLAIN}.gz`;
let made;

before(async () => {
  await mkdir(OUTPUT, { recursive: true });
  // Above 100 MiB, the limit up to which the page packs the whole trace for Perfetto.
  made = await makeTrace(PLAIN, 106e6);
  await writeFile(PACKED, gzipSync(await readFile(PLAIN), { level: 1 }));
});
after(() => Promise.all([rm(PLAIN, { force: true }), rm(PACKED, { force: true })]));

const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');

const largeTest = pageTests(given);

largeTest('100 MB: the numbers are exact', async (page) => {
  // Wide enough for the column of arguments.
  await page.setViewportSize({ width: 2400, height: 900 });
  await page.getByTestId('file-input').setInputFiles(PLAIN);
  await checkTotals(page, made);
  await showReport(page, 'Longest slices');
  // Arguments come from the file.
  await panel(page).locator('.report:not([hidden]) tbody').filter({ hasText: 'External id' }).first().waitFor();
});

largeTest('100 MB, compressed: the numbers are the same', async (page) => {
  await page.getByTestId('file-input').setInputFiles(PACKED);
  await checkTotals(page, made);
});

for (const [path, what] of [[PLAIN, 'reads'], [PACKED, 'unpacks']]) {
  largeTest(`losing a worker that ${what}: the numbers are the same`, async (page) => {
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
    // The first worker parses, the others help.
    await page.evaluate(() => {
      for (const worker of globalThis.workers.slice(1)) {
        worker.terminate();
        worker.dispatchEvent(new ErrorEvent('error', { message: 'unreachable executed', cancelable: true }));
      }
    });
    await checkTotals(page, made);
  });
}

largeTest('for a large trace Perfetto gets the selected range, on request', async (page) => {
  await page.getByTestId('file-input').setInputFiles(PLAIN);
  await panel(page).locator('.file-head').waitFor({ timeout: 120_000 });
  await standInForPerfetto(page.context());
  const nPages = page.context().pages().length;
  await page.keyboard.press('h');
  await page.getByRole('menuitem', { name: 'Open in Perfetto…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Open in Perfetto' });
  // The dialog shows the size, selects the first part, and packs nothing before it is asked to.
  await dialog.getByText(/^The file has 10\d\.\d MiB\. Perfetto may not be able to load all of it/).waitFor();
  const to = dialog.getByLabel('to', { exact: true });
  const all = Number((await dialog.getByText(/^Time range in ms; the whole trace is 0 to/).textContent()).match(/to ([\d.]+)$/)[1]);
  const proposed = Number(await to.inputValue());
  assert.ok(proposed > all * 0.9 && proposed < all, `${proposed} of ${all}`);
  await page.waitForTimeout(300);
  assert.equal(await dialog.getByText(/passed to https/).count(), 0);
  // In the middle, starting when nothing runs: 10,000 parents of 20 µs.
  await dialog.getByLabel('from', { exact: true }).fill('1000.017');
  await to.fill('1200.017');
  await dialog.getByRole('button', { name: 'Pack this range' }).click();
  const size = await dialog.getByText(/ passed to https:\/\/ui\.perfetto\.dev as 100-megabytes\.pftrace/).textContent();
  assert.equal(page.context().pages().length, nPages);
  const popup = page.context().waitForEvent('page');
  await dialog.getByRole('button', { name: 'Open in Perfetto' }).click();
  const perfetto = await popup;
  const { bytes } = await givenToPerfetto(perfetto);
  await dialog.getByText(/Passed .* to Perfetto/).waitFor();
  // The announced size is the size received.
  const [, amount, unit] = size.match(/^([\d.]+) (KiB|MiB)/);
  const announced = amount * (unit === 'KiB' ? 2 ** 10 : 2 ** 20);
  assert.ok(Math.abs(announced - bytes.length) < bytes.length / 100, `${size}: ${bytes.length}`);
  const events = slicesIn(bytes);
  const first = 1_000_000 / 20 + 1;
  const expected = Array.from({ length: 10_000 }, (_, at) => first + at).flatMap((i) => [
    `parent ${i % 11} ${1000.25 + i * 20} 15.125`,
    `child ${1001.25 + i * 20} 4.125`,
    `child ${1006.25 + i * 20} 2.125`,
  ]);
  assert.deepEqual(events.map(({ name, ts, dur }) => `${name} ${ts} ${dur}`).sort(), expected.sort());
  await perfetto.close();
});
