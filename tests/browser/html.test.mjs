// The report in one HTML file: works without a server and without scripts, and nothing leaves it.
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NARROW, WIDE, accessibilityProblems, openPage, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();
const trace = fileURLToPath(new URL('../data/pytorch/small-bert-h100.json.gz', import.meta.url));
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');

/** Exports the report of a trace, or a comparison of two, and opens the file from disk. */
async function exported(options, files = [trace]) {
  const page = await openPage(given.browser, given.site.url);
  await page.getByTestId('file-input').setInputFiles(files);
  await panel(page).locator('.file-head').waitFor();
  if (files.length === 2) await panel(page).getByTestId('side-b').waitFor();
  const download = page.waitForEvent('download');
  await page.keyboard.press('e');
  await page.getByRole('menuitem', { name: 'HTML report (single file)' }).click();
  const file = await download;
  assert.equal(file.suggestedFilename(), files.length === 2 ? 'compare-base-against-compare-test.html' : 'small-bert-h100.html');
  const path = await file.path();
  // Everything besides the data stays far below 4 MB.
  assert.ok(statSync(path).size < 4e6, `${statSync(path).size}`);
  const context = await given.browser.newContext(options);
  const report = await context.newPage();
  report.console = [];
  report.on('console', (message) => report.console.push(message.text()));
  report.on('pageerror', (error) => report.console.push(String(error)));
  // Downloads have no extension, so the browser would show them as text.
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
    // The order that it comes in is to be seen.
    assert.equal(await table.locator('th[aria-sort]').textContent(), 'total');
    assert.equal(await table.locator('th[aria-sort]').getAttribute('aria-sort'), 'descending');
    await total.focus();
    await page.keyboard.press('Enter');
    assert.equal(await table.locator('th[aria-sort]').getAttribute('aria-sort'), 'ascending');
    assert.notEqual(await first(), before);
    // Its name says which table it is of.
    const title = await table.locator('xpath=..').getAttribute('aria-label');
    await page.getByRole('searchbox', { name: `Filter: ${title}`, exact: true }).first().fill('no such row at all');
    await page.getByRole('status').filter({ hasText: /^0 of \d+ rows$/ }).waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    // Its own policy lets nothing out.
    assert.equal(await page.evaluate(() => fetch('https://example.org/').then(() => 'out', () => 'shut')), 'shut');
    await page.context().close();
  }
});

test('the timeline is a picture that scrolls in its own box, also without scripts', async () => {
  for (const [viewport, colorScheme] of [[WIDE, 'dark'], [NARROW, 'light']]) {
    const page = await exported({ viewport, colorScheme, javaScriptEnabled: false });
    const timeline = page.locator('section').filter({ has: page.getByRole('heading', { level: 2, name: 'Timeline', exact: true }) });
    assert.match(await timeline.locator('p.soft').first().textContent(), /^0 ns to .*, \d+ of \d+ tracks/);
    const figure = timeline.locator('figure');
    const [scrolls, titles] = await figure.evaluate((figure) => [
      figure.scrollWidth > figure.clientWidth,
      figure.querySelectorAll('rect > title').length,
    ]);
    assert.equal(scrolls, viewport === NARROW);
    assert.ok(titles > 100 && titles <= 8000, `${titles}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await page.context().close();
  }
});

test('without scripts everything is there to be read', async () => {
  const page = await exported({ javaScriptEnabled: false });
  assert.ok(await page.getByRole('heading', { name: 'Kernels', exact: true }).first().isVisible());
  assert.ok((await page.locator('tbody tr').count()) > 50);
  assert.equal(await page.getByRole('searchbox').count(), 0);
  // On paper, A4 without its margins, nothing can be scrolled: browsers make it half as large at the least, and cut the rest.
  await page.setViewportSize({ width: 718, height: 1000 });
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  const [width, cut, paper] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    [...document.querySelectorAll('body *')].filter((it) => it.scrollWidth > it.clientWidth + 2 && it.clientWidth > 0 && getComputedStyle(it).overflowX !== 'visible').length,
    getComputedStyle(document.body).backgroundColor,
  ]);
  assert.ok(width < 2 * 718, `${width}`);
  assert.deepEqual([cut, paper], [0, 'rgb(255, 255, 255)']);
  await page.context().close();
});

test('a comparison in one file has both sides, is sorted and filtered, and goes nowhere', async () => {
  const sides = ['compare-base', 'compare-test'].map((name) => fileURLToPath(new URL(`../data/pytorch/${name}.json.gz`, import.meta.url)));
  for (const [viewport, colorScheme] of [[WIDE, 'dark'], [NARROW, 'light']]) {
    const page = await exported({ viewport, colorScheme }, sides);
    for (const name of ['A: compare-base.json.gz', 'B: compare-test.json.gz']) assert.ok(await page.getByRole('heading', { name, exact: true }).first().isVisible());
    // Timelines of both, while their tabs are open.
    const timeline = page.locator('section').filter({ has: page.getByRole('heading', { level: 2, name: 'Timeline', exact: true }) });
    assert.equal(await timeline.locator('figure').count(), 2);
    assert.match(await timeline.innerText(), /A above B on one scale, aligned at the median .*Kernels of the median .*Events over time/s);
    for (const figure of await timeline.locator('figure').all()) assert.ok((await figure.locator('rect > title').count()) >= 2);
    const table = page.locator('table').filter({ has: page.getByRole('button', { name: 'change', exact: true }) }).first();
    const column = () => table.locator('tbody tr:not([hidden]) td:first-child').allTextContents();
    const before = await column();
    await table.getByRole('button').first().click();
    await table.locator('th[aria-sort=ascending]').waitFor();
    assert.deepEqual((await column()).sort(), [...before].sort());
    assert.deepEqual(await accessibilityProblems(page), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    assert.deepEqual(page.console, []);
    await page.context().close();
  }
});

test('where a mail program shows it in a frame without rights it is read as well', async () => {
  const report = await exported({});
  const path = fileURLToPath(report.url());
  // As previews do: no scripts, no origin.
  writeFileSync(`${path}.mail.html`, `<!doctype html><title>mail</title><iframe sandbox="" title="attachment" srcdoc="${readFileSync(path, 'utf8').replaceAll('&', '&amp;').replaceAll('"', '&quot;')}" width="900" height="700"></iframe>`);
  await report.goto(`file://${path}.mail.html`);
  const frame = report.frameLocator('iframe');
  await frame.getByRole('heading', { name: 'Kernels', exact: true }).first().waitFor();
  assert.ok((await frame.locator('tbody tr').count()) > 50);
  await report.context().close();
});
