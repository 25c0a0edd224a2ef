// Fleet datasets: a dropped folder, and the way to the trace of a rank.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { accessibilityProblems, pageTests, siteAndBrowser } from './support.mjs';

const FLEET = fileURLToPath(new URL('../data/fleet', import.meta.url));
/** A trace of a rank as the dataset names it, of 3 ms. */
const traceOf = (rank) => ({
  name: `node-000_${4000 + rank}.${1_790_000_000_000 + rank}.pt.trace.json.gz`,
  mimeType: 'application/json',
  buffer: Buffer.from(JSON.stringify([{ ph: 'X', name: `rank ${rank}`, pid: 1, tid: 1, ts: 0, dur: 3000 }])),
});
/** Its steps in the address: start and end in nanoseconds, as `table=steps` has them. */
const STRETCH = ['stretch=5000-621805', 'stretch=621805-1232946', 'stretch=1232946-1846518', 'stretch=1846518-2435449'];
const NAMED = /^Choose node-000_4005\.1790000000005\.pt\.trace\.json\.gz\.$/;

const pageTest = pageTests(siteAndBrowser());
const report = (page) => page.locator('[role=tabpanel]:not([hidden]) .report:not([hidden])');

pageTest('a fleet opens as one tab, and a rank asks for its trace', async (page) => {
  await page.getByTestId('folder-input').setInputFiles(FLEET);
  await report(page).getByText(/^8 ranks, 8 steps, 2 runs/).waitFor();
  assert.equal(await page.locator('.tab-name').count(), 1);
  await report(page).getByRole('img', { name: 'Computation by rank and step, run monday' }).waitFor();
  const ranks = report(page).locator('section.table').filter({ has: page.getByRole('heading', { name: 'Ranks' }) });
  const row = ranks.locator('tr[aria-rowindex="2"]');
  const name = await row.locator('td').nth(3).textContent();
  await row.focus();
  await page.keyboard.press('Enter');
  const chosen = page.waitForEvent('filechooser');
  await page.getByRole('menuitem', { name: 'Open this trace…' }).click();
  await chosen;
  await page.getByRole('status').getByText(/^Choose node-000_4000\..*\.json\.gz\.$/).waitFor();
  assert.match(name, /node-000_4000/);
  assert.deepEqual(await accessibilityProblems(page), []);
});

/** The heat map of the computation of run `monday`, whose rank 5 is slower. */
async function openMap(page) {
  await page.getByTestId('folder-input').setInputFiles(FLEET);
  const map = report(page).getByRole('group', { name: 'Computation by rank and step, run monday, cells' });
  await map.waitFor();
  return map;
}

pageTest('a cell of the heat map opens the trace of its rank at its step', async (page) => {
  const map = await openMap(page);
  const cell = map.locator('rect', { has: page.locator('title', { hasText: /^rank 5 · #3 ProfilerStep#2: slower 5\.\d%$/ }) });
  const chosen = page.waitForEvent('filechooser');
  await cell.click();
  const chooser = await chosen;
  await page.getByRole('status').getByText(NAMED).waitFor();
  await chooser.setFiles(traceOf(5));
  await page.waitForFunction((stretch) => location.hash.includes('report=timeline') && location.hash.includes(stretch), STRETCH[2]);
  assert.equal(await page.locator('.tab-name').count(), 2);
  // It is open now, so another of its cells shows it without asking.
  await page.locator('.tab-name').first().click();
  await map.locator('rect', { has: page.locator('title', { hasText: /^rank 5 · #4 / }) }).click();
  await page.waitForFunction((stretch) => location.hash.includes(stretch), STRETCH[3]);
  assert.equal(await page.locator('.tab-name').count(), 2);
});

pageTest('cells of the heat map are reached by keyboard', async (page) => {
  const map = await openMap(page);
  const text = map.locator('xpath=..').locator('.chart-cell');
  await text.getByText('Click a cell to open its trace at that step').waitFor();
  await map.focus();
  await text.getByText(/^rank 0 · #1 ProfilerStep#0: within 1% /).waitFor();
  for (const key of ['ArrowUp', 'ArrowRight', ...Array(9).fill('ArrowDown')]) await page.keyboard.press(key);
  await text.getByText(/^rank 5 · #2 ProfilerStep#1: slower 5\.9%$/).waitFor();
  const chosen = page.waitForEvent('filechooser');
  await page.keyboard.press('Enter');
  await (await chosen).setFiles(traceOf(5));
  await page.waitForFunction((stretch) => location.hash.includes(stretch), STRETCH[1]);
});

pageTest('the scale of a heat map has no text twice', async (page) => {
  const map = await openMap(page);
  const texts = await map.locator('svg text').allTextContents();
  const percents = texts.filter((text) => text.endsWith('%'));
  assert.equal(percents.length, 5, texts.join());
  assert.equal(new Set(percents).size, 5, texts.join());
  // All ranks of this run are alike, so its map has no scale.
  const same = report(page).getByRole('group', { name: 'GPU time by rank and step, run tuesday, cells' });
  await same.locator('rect').first().waitFor();
  assert.deepEqual((await same.locator('svg text').allTextContents()).filter((text) => text.endsWith('%')), []);
});
