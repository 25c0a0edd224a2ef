// GPU memory snapshots: the moment at which memory is looked at.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { accessibilityProblems, pageTests, showReport, siteAndBrowser } from './support.mjs';

const pageTest = pageTests(siteAndBrowser());
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const report = (page) => panel(page).locator('.report:not([hidden])');
const table = (page) => report(page).getByRole('heading', { name: /^Active memory at / });
const moment = (page) => report(page).getByLabel('Active memory at', { exact: true });

pageTest('memory at a moment is chosen in the chart or typed, and is a flame graph too', async (page) => {
  const file = fileURLToPath(new URL('../data/memsnapshot/one_device_p4.pickle', import.meta.url));
  await page.getByTestId('file-input').setInputFiles(file);
  await report(page).getByRole('heading', { name: 'Memory over time, GPU 0' }).waitFor();
  assert.equal(await table(page).count(), 0);
  const chart = report(page).locator('.chart-clickable .drawing').first();
  const { width, height } = await chart.boundingBox();
  await chart.click({ position: { x: width / 2, y: height / 2 } });
  await table(page).waitFor();
  const chosen = await moment(page).inputValue();
  assert.match(chosen, /^[\d.]+ (ms|µs|s)$/);
  assert.equal(await table(page).textContent(), `Active memory at ${chosen}`);
  assert.deepEqual(await accessibilityProblems(page), []);
  await showReport(page, 'Flame graph');
  await report(page).locator('.flame-choice select').first().selectOption({ label: `Stacks by memory at ${chosen}` });
  await report(page).locator('.report-summary').getByText(/iB/).waitFor();
  await showReport(page, 'GPU memory snapshot');
  // What is typed and is no time is said, and changes nothing.
  await moment(page).fill('soon');
  await moment(page).press('Enter');
  await report(page).getByText("'soon' is not a time").waitFor();
  assert.equal(await table(page).textContent(), `Active memory at ${chosen}`);
  await moment(page).fill('0');
  await moment(page).press('Enter');
  await report(page).getByRole('heading', { name: 'Active memory at 0 ns' }).waitFor();
  await report(page).getByRole('button', { name: 'Choose no moment' }).click();
  await table(page).waitFor({ state: 'detached' });
});

pageTest('blocks of memory by address are chosen by click and by keys', async (page) => {
  const file = fileURLToPath(new URL('../data/memsnapshot/one_device_p4.pickle', import.meta.url));
  await page.getByTestId('file-input').setInputFiles(file);
  await report(page).getByRole('heading', { name: 'Memory over time, GPU 0' }).waitFor();
  await showReport(page, 'GPU memory by address');
  const heading = 'Blocks by address over time, GPU 0';
  await report(page).getByRole('heading', { name: heading }).waitFor();
  const map = report(page).getByRole('group', { name: `${heading}, cells` });
  const chosen = report(page).locator('.chart-cell');
  assert.match(await chosen.textContent(), /^Click a block or a cell/);
  // The largest block first; its stack is below.
  await map.focus();
  await chosen.filter({ hasText: / at 0x[0-9a-f]+, / }).waitFor();
  const first = await chosen.textContent();
  assert.match(await report(page).locator('.chart-stack li').first().textContent(), /\.py:\d+/);
  await map.press('ArrowUp');
  await page.waitForFunction((first) => document.querySelector('.report:not([hidden]) .chart-cell').textContent !== first, first);
  assert.equal(await map.locator('rect.chosen').count(), 1);
  // The peak is marked, and what is clicked is what the tooltip says.
  assert.ok((await map.locator('.drawing text').allTextContents()).includes('peak'));
  const block = map.locator('.drawing rect:not([fill-opacity])').first();
  const title = await block.locator('title').textContent();
  const { width, height } = await block.boundingBox();
  await block.click({ position: { x: width / 2, y: height / 2 } });
  await report(page).locator('.chart-cell').filter({ hasText: title }).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
});
