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
