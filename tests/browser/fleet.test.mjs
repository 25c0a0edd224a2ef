// Fleet datasets: a dropped folder, and the way to the trace of a rank.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { accessibilityProblems, pageTests, siteAndBrowser } from './support.mjs';

const pageTest = pageTests(siteAndBrowser());
const report = (page) => page.locator('[role=tabpanel]:not([hidden]) .report:not([hidden])');

pageTest('a fleet opens as one tab, and a rank asks for its trace', async (page) => {
  await page.getByTestId('folder-input').setInputFiles(fileURLToPath(new URL('../data/fleet', import.meta.url)));
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
