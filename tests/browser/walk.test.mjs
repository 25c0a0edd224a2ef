// Real files end to end: open, check the visible numbers, export, and open the export.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { pageTests, scrollBy, showReport, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();
const data = (path) => fileURLToPath(new URL(`../data/${path}`, import.meta.url));
const json = async (path) => JSON.parse(await readFile(data(path), 'utf8'));

const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const number = (text) => Number(text.replace(/[^0-9.-]/g, ''));

async function open(page, ...paths) {
  await page.getByTestId('file-input').setInputFiles(paths);
  await panel(page).locator('.file-head').waitFor({ timeout: 120_000 });
}

async function showReportWhole(page, title) {
  await showReport(page, title);
  await page.waitForFunction(() => !document.querySelector('.report:not([hidden]) .table-stale'));
}

/** All rows of a table, as objects keyed by header; long tables are scrolled by keyboard. */
async function rows(page, title) {
  const section = panel(page).locator('.report:not([hidden]) section.table').filter({
    has: page.getByRole('heading', { name: title, exact: true }),
  });
  await section.locator('tbody tr[aria-rowindex]').first().waitFor();
  const headers = (await section.locator('thead th').allTextContents()).map((text) => text.trim());
  // The header is a row as well.
  const n = Number(await section.locator('table').getAttribute('aria-rowcount')) - 1;
  const all = new Map();
  const collect = async () => {
    const drawn = await section.locator('tbody tr[aria-rowindex]:not(:has(.cell-waiting))').evaluateAll((found) =>
      found.map((row) => [Number(row.getAttribute('aria-rowindex')), [...row.cells].map((cell) => cell.textContent.trim())]),
    );
    for (const [index, cells] of drawn) all.set(index, Object.fromEntries(headers.map((header, i) => [header, cells[i]])));
  };
  await collect();
  while (all.size < n) {
    const before = all.size;
    await scrollBy(section.getByRole('region'), 'PageDown');
    for (let tries = 0; all.size === before; tries += 1) {
      assert.ok(tries < 500, `rows below the first ${before} of ${title}`);
      await collect();
    }
  }
  return [...all.values()];
}

/** Exports through the menu; returns the path of the saved file. */
async function exportAs(page, label) {
  await panel(page).getByRole('button', { name: 'Export' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: label }).click(),
  ]);
  return { path: await download.path(), name: download.suggestedFilename() };
}

/** Exports a Chrome trace and opens it. */
async function reopen(page) {
  const { path, name } = await exportAs(page, 'Chrome trace');
  assert.match(name, /\.trace\.json$/);
  await page.getByTestId('file-input').setInputFiles({ name, mimeType: 'application/json', buffer: await readFile(path) });
  await page.locator(`[role=tab][title="${name}"][aria-selected=true]`).waitFor();
  await panel(page).locator('.file-head').waitFor();
}

const walk = pageTests(given);

walk('a Chrome trace: the numbers match Perfetto, also after export and re-import', async (page) => {
  const perfetto = await json('chrome/expected/ferrum_decode.json');
  const expected = new Map();
  for (const { name: raw, dur } of perfetto.slices) {
    // A line break in a name is escaped.
    const name = raw.replaceAll('\n', '\\n');
    const { count, total } = expected.get(name) ?? { count: 0, total: 0 };
    expected.set(name, { count: count + 1, total: total + dur });
  }
  const check = async () => {
    await showReportWhole(page, 'Slices by name');
    const read = await rows(page, 'Slices by name');
    assert.equal(read.length, expected.size);
    for (const row of read) {
      assert.ok(expected.has(row.name), JSON.stringify(row));
      const { count, total } = expected.get(row.name);
      assert.equal(number(row.count), count, row.name);
      const scale = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[row.total.match(/[a-zµ]+$/)[0]];
      // Cells show four digits.
      assert.ok(Math.abs(number(row.total) * scale - total) <= total * 5e-4, `${row.name}: ${row.total}, not ${total} ns`);
    }
    return read;
  };
  await open(page, data('chrome/ferrum_decode.json'));
  const before = await check();
  await reopen(page);
  assert.deepEqual(await check(), before);
});

walk('forward passes: calls and hits by probe match the file; each call is a slice in the export', async (page) => {
  const path = data('sway/run_tinylm_ranks.jsonl');
  const calls = (await readFile(path, 'utf8')).trim().split('\n').map((line) => JSON.parse(line));
  await open(page, path);
  const read = await rows(page, 'Time by probe');
  for (const row of read) {
    const own = calls.filter(({ probe }) => (probe ?? '<unassigned>') === row.probe);
    assert.equal(number(row.calls), own.length, row.probe);
    assert.equal(number(row.hits), own.filter(({ hit }) => hit).length, row.probe);
    assert.equal(row['total ms'].replaceAll(',', ''), own.reduce((sum, { wall_ms }) => sum + wall_ms, 0).toFixed(1), row.probe);
  }
  assert.equal(read.reduce((sum, row) => sum + number(row.calls), 0), calls.length);
  const markdown = await exportAs(page, 'Markdown');
  assert.match(await readFile(markdown.path, 'utf8'), new RegExp(`${calls.length}`));
  await reopen(page);
  await showReportWhole(page, 'Slices by name');
  const slices = await rows(page, 'Slices by name');
  // Around the calls of each probe there is a slice for it.
  const ofCalls = slices.filter(({ category }) => category !== 'sway,probe');
  assert.equal(ofCalls.reduce((sum, row) => sum + number(row.count), 0), calls.length);
});

walk('a Python profile: samples add up to the total of the profiler', async (page) => {
  const { runs: [run] } = await json('pysampling/expected/cpu_threads.json');
  await open(page, data('pysampling/cpu_threads.jsonl'));
  const facts = await panel(page).locator('.report:not([hidden])').textContent();
  assert.ok(facts.includes(run.end_samples_total.toLocaleString('en-US')));
  const frames = await rows(page, 'Frames');
  assert.equal(frames.length, run.frames);
  assert.equal(frames.reduce((sum, row) => sum + number(row.self), 0), run.end_samples_total);
  await reopen(page);
});
