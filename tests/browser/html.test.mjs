// The report in one HTML file: read without a server, without scripts, and without a way out.
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NARROW, WIDE, accessibilityProblems, openPage, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();
const trace = fileURLToPath(new URL('../data/pytorch/small-bert-h100.json.gz', import.meta.url));
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');

/** Exports the report of a trace and opens the file from the disk. */
async function exported(options) {
  const page = await openPage(given.browser, given.site.url);
  await page.getByTestId('file-input').setInputFiles(trace);
  await panel(page).locator('.file-head').waitFor();
  const download = page.waitForEvent('download');
  await page.keyboard.press('e');
  await page.getByRole('menuitem', { name: 'Web page, in one file' }).click();
  const file = await download;
  assert.equal(file.suggestedFilename(), 'small-bert-h100.html');
  const path = await file.path();
  const context = await given.browser.newContext(options);
  const report = await context.newPage();
  report.console = [];
  report.on('console', (message) => report.console.push(message.text()));
  report.on('pageerror', (error) => report.console.push(String(error)));
  // Downloads have no ending, which the browser would take for a text.
  copyFileSync(path, `${path}.html`);
  await report.goto(`file://${path}.html`);
  await page.context().close();
  return report;
}

test('tables are sorted and filtered; nothing is fetched; pictures are there', async () => {
  for (const [viewport, colorScheme] of [[WIDE, 'light'], [NARROW, 'dark']]) {
    const page = await exported({ viewport, colorScheme });
    assert.deepEqual(page.console, []);
    assert.ok((await page.getByRole('img').count()) > 5);
    const table = page.locator('[id="gpu-kernels.kernels"] ~ .frame table').first();
    const first = () => table.locator('tbody tr:not([hidden])').first().textContent();
    const before = await first();
    const total = table.getByRole('button', { name: 'total', exact: true });
    await total.focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    assert.equal(await table.locator('th[aria-sort]').getAttribute('aria-sort'), 'ascending');
    assert.notEqual(await first(), before);
    await page.getByLabel('Filter:').first().fill('no such row at all');
    await page.getByText(/^0 of \d+ rows$/).waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    // Its own policy lets nothing out.
    assert.equal(await page.evaluate(() => fetch('https://example.org/').then(() => 'out', () => 'shut')), 'shut');
    await page.context().close();
  }
});

test('without scripts everything is there to be read', async () => {
  const page = await exported({ javaScriptEnabled: false });
  assert.ok(await page.getByRole('heading', { name: 'Kernels', exact: true }).first().isVisible());
  assert.ok((await page.locator('tbody tr').count()) > 50);
  assert.equal(await page.getByRole('searchbox').count(), 0);
  await page.context().close();
});
