// How tables and reports are looked at: filters, search, Back and Forward, closed tabs.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { accessibilityProblems, pageTests, showReport, siteAndBrowser } from './support.mjs';

const data = (name) => fileURLToPath(new URL(`../data/${name}`, import.meta.url));
const pageTest = pageTests(siteAndBrowser());
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const report = (page) => panel(page).locator('.report:not([hidden])');
const heading = (page) => report(page).getByRole('heading', { level: 2 });
const show = showReport;
/** Slices of 30 names; `f7` runs 7 ms in all. */
const made = {
  name: 'made.json',
  mimeType: 'application/json',
  buffer: Buffer.from(JSON.stringify(Array.from({ length: 30 }, (_, i) => ({ ph: 'X', name: `f${i}`, cat: i % 2 ? 'odd' : 'even', pid: 1, tid: 1, ts: i * 40_000, dur: i * 1000 })))),
};
const open = async (page, file = made) => {
  await page.getByTestId('file-input').setInputFiles(file);
  await heading(page).waitFor();
};
const filter = (page) => report(page).getByRole('searchbox').first();
const count = (page) => report(page).locator('.table-count').first();

pageTest('a table is filtered by columns, numbers with units and patterns; a mistake is explained and keeps the rows', async (page) => {
  await open(page);
  await show(page, 'Slices by name');
  await filter(page).fill('total>=28ms category=odd');
  await count(page).getByText('1 of 30').waitFor();
  await filter(page).fill('/^f1[0-3]$/');
  await count(page).getByText('4 of 30').waitFor();
  await filter(page).fill('total>5');
  await report(page).getByText('5 needs a unit: total>5ms').waitFor();
  assert.match(await count(page).textContent(), /4 of 30/);
  assert.deepEqual(await accessibilityProblems(page), []);
  await report(page).getByRole('button', { name: 'Clear filter' }).click();
  await count(page).getByText('30 rows').waitFor();
  // Columns are offered while one is named.
  await filter(page).fill('tot');
  await report(page).getByRole('button', { name: 'total>', exact: true }).click();
  assert.equal(await filter(page).inputValue(), 'total>');
});

pageTest('Back and Forward lead through reports, filters and tabs', async (page) => {
  await open(page);
  const first = await heading(page).textContent();
  await show(page, 'Slices by name');
  await filter(page).fill('f1');
  await count(page).getByText('11 of 30').waitFor();
  await page.waitForFunction(() => location.hash.includes('filter='));
  await page.goBack();
  await count(page).getByText('30 rows').waitFor();
  assert.equal(await filter(page).inputValue(), '');
  await page.goBack();
  await page.waitForFunction((first) => document.querySelector('[role=tabpanel]:not([hidden]) .report:not([hidden]) h2')?.textContent === first, first);
  await page.goForward();
  await page.goForward();
  await count(page).getByText('11 of 30').waitFor();
  assert.equal(await filter(page).inputValue(), 'f1');
  for (let i = 0; i < 3; i++) await page.goBack();
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  assert.equal(await panel(page).count(), 0);
  await page.goForward();
  await heading(page).waitFor();
});

pageTest('one search finds names, reports and commands, by keyboard', async (page) => {
  await open(page);
  await page.keyboard.press('Control+k');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('searchbox').fill('f17');
  await dialog.getByRole('option', { name: 'f17' }).first().waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await dialog.getByRole('searchbox').fill('slices by');
  await page.keyboard.press('Enter');
  await heading(page).getByText('Slices by name').waitFor();
  await page.keyboard.press('Control+k');
  await dialog.getByRole('searchbox').fill('f17');
  await dialog.getByRole('group', { name: /Slices by name/ }).getByRole('option', { name: 'f17' }).first().click();
  await count(page).getByText('1 of 30').waitFor();
  await page.keyboard.press('Control+k');
  await dialog.waitFor();
  // All reports of the list, also those that are pictures.
  const reports = await page.locator('[role=tabpanel]:not([hidden]) .report-list > ul > li > button').allTextContents();
  assert.ok(reports.includes('Timeline'), reports.join());
  const offered = await dialog.getByRole('group', { name: 'Reports' }).getByRole('option').allInnerTexts();
  assert.deepEqual(offered.map((text) => text.trim()), reports.map((text) => text.trim()));
  await dialog.getByRole('searchbox').fill('f1');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
});

pageTest('a search shows tables of names before what divides them', async (page) => {
  await page.getByTestId('file-input').setInputFiles(fileURLToPath(new URL('../../www/samples/gpu-serving.json', import.meta.url)));
  await page.locator('.file-head').waitFor();
  await page.keyboard.press('Control+k');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('searchbox').fill('gemm');
  await dialog.getByRole('group', { name: 'Kernels › Kernels by name' }).waitFor();
  const groups = await dialog.getByRole('group').evaluateAll((groups) => groups.map((group) => group.ariaLabel));
  const at = (name) => groups.indexOf(name);
  assert.ok(at('Kernels › Operations') < at('Kernels › Kernels by name'), groups.join());
  assert.ok(at('Kernels › Kernels by name') < at('Kernels › Operations by step'), groups.join());
  // A key of the timeline is offered while the timeline shows.
  await dialog.getByRole('searchbox').fill('fit the selection');
  await dialog.getByText('No results').waitFor();
});

pageTest('rows are selected by pointer and keys, and their sum shows', async (page) => {
  await open(page);
  await show(page, 'Slices by name');
  const row = (n) => report(page).locator(`tbody tr[aria-rowindex="${n + 1}"]`).first();
  const selected = report(page).locator('.table-selected').first();
  await row(1).locator('td').first().click();
  await selected.getByText('1 row selected').waitFor();
  await row(3).locator('td').first().click({ modifiers: ['Shift'] });
  await selected.getByText(/^3 rows selected/).waitFor();
  // f29, f28 and f27 run 84 ms.
  await selected.getByText(/total: 84\.00 ms/).waitFor();
  assert.equal(await row(2).getAttribute('aria-selected'), 'true');
  await page.waitForFunction(() => location.hash.includes('rows='));
  assert.deepEqual(await accessibilityProblems(page), []);
  await row(3).focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  await selected.getByText(/^4 rows selected/).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Shift+Space');
  await selected.getByText(/^6 rows selected/).waitFor();
  await page.keyboard.press('Escape');
  await selected.getByText('selected').waitFor({ state: 'detached' });
});

pageTest('the menu of a row copies, filters and writes a note', async (page) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page);
  await show(page, 'Slices by name');
  const row = report(page).locator('tbody tr[aria-rowindex="2"]').first();
  const menu = page.getByRole('menu', { name: 'Row actions' });
  await row.locator('td').nth(1).click({ button: 'right' });
  await menu.waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await menu.getByRole('menuitem', { name: 'Copy name' }).click();
  await page.getByText('Copied 1 row').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'f29');
  await row.focus();
  await page.keyboard.press('Enter');
  await menu.waitFor();
  await page.keyboard.press('Escape');
  await menu.waitFor({ state: 'hidden' });
  assert.equal(await row.evaluate((element) => element === document.activeElement), true);
  await row.hover();
  await row.getByRole('button', { name: 'Row actions' }).click();
  await menu.getByRole('menuitem', { name: 'Filter by this' }).click();
  await count(page).getByText('1 of 30').waitFor();
});

pageTest('a closed tab comes back as it was left', async (page) => {
  await open(page);
  await show(page, 'Slices by name');
  await filter(page).fill('f1');
  await count(page).getByText('11 of 30').waitFor();
  await page.getByRole('tab').focus();
  await page.keyboard.press('Delete');
  await page.getByRole('button', { name: 'Reopen' }).click();
  await count(page).getByText('11 of 30').waitFor();
  assert.equal(await filter(page).inputValue(), 'f1');
});

pageTest('only the report that shows is in the page', async (page) => {
  await open(page, data('pytorch/small-bert-h100.json.gz'));
  for (const title of ['Kernels', 'Operators', 'Slices by name']) {
    await show(page, title);
    await heading(page).getByText(title).waitFor();
  }
  assert.equal(await page.locator('.report h2').count(), 1);
  const n = await page.evaluate(() => document.querySelectorAll('*').length);
  assert.ok(n < 6000, `${n} elements`);
});

pageTest('the wheel over a table moves the page, and rows once the table has the focus', async (page) => {
  await open(page, data('pytorch/small-bert-h100.json.gz'));
  await show(page, 'Slices by name');
  const region = report(page).getByRole('region').first();
  await region.hover();
  await page.mouse.wheel(0, 300);
  await page.waitForFunction(() => scrollY > 100);
  assert.equal(await region.evaluate((element) => element.scrollTop), 0);
  await region.focus();
  await region.hover();
  await page.mouse.wheel(0, 300);
  await page.waitForFunction(() => document.querySelector('.report:not([hidden]) .table-long').scrollTop > 0);
});

pageTest('a reload offers what was open, and shows it as it was', async (page) => {
  await open(page);
  await show(page, 'Slices by name');
  await filter(page).fill('total>=28ms');
  await count(page).getByText('2 of 30').waitFor();
  await page.waitForFunction(() => location.hash.includes('filter='));
  await page.reload();
  const again = page.getByTestId('lost-files').getByRole('button', { name: 'Choose made.json again' });
  await again.waitFor();
  const chosen = page.waitForEvent('filechooser');
  await again.click();
  await (await chosen).setFiles(made);
  await heading(page).getByText('Slices by name').waitFor();
  await count(page).getByText('2 of 30').waitFor();
  assert.equal(await filter(page).inputValue(), 'total>=28ms');
  await page.keyboard.press('s');
  assert.equal(await page.getByTestId('lost-files').count(), 0);
});

pageTest('a dropped file opens again after a reload without being chosen; if it is gone, the dialog opens', async (page) => {
  const text = made.buffer.toString();
  // Scripts cannot drag files with handles, so a file of the page's own storage gives its handle.
  await page.evaluate(async (text) => {
    const own = await (await navigator.storage.getDirectory()).getFileHandle('made.json', { create: true });
    const writable = await own.createWritable();
    await writable.write(text);
    await writable.close();
    DataTransferItem.prototype.getAsFileSystemHandle = async () => own;
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], 'made.json'));
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }, text);
  await heading(page).waitFor();
  await show(page, 'Slices by name');
  await page.reload();
  await page.getByTestId('lost-files').getByRole('button', { name: 'Open made.json again' }).click();
  await heading(page).getByText('Slices by name').waitFor();
  await count(page).getByText('30 rows').waitFor();
  // Where the file is gone, the dialog opens.
  await page.reload();
  await page.evaluate(async () => (await navigator.storage.getDirectory()).removeEntry('made.json'));
  const chosen = page.waitForEvent('filechooser');
  await page.getByTestId('lost-files').getByRole('button', { name: 'Open made.json again' }).click();
  await (await chosen).setFiles(made);
  await heading(page).waitFor();
  await page.reload();
  await page.getByTestId('lost-files').getByRole('button', { name: 'Choose made.json again' }).waitFor();
});

pageTest('amounts show as percent and per step; the address says how, and Back undoes it', async (page) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const title = await page.evaluate(() => globalThis.tracedrop.samples.find((sample) => sample.name === 'gpu-serving.json').title);
  await page.getByRole('button', { name: title }).click();
  await panel(page).locator('.file-head').waitFor();
  await show(page, 'Kernels');
  const table = report(page).locator('section.table').filter({ has: page.getByRole('group', { name: /^Amounts in / }) }).first();
  const choice = (name) => table.getByRole('group', { name: /^Amounts in / }).getByRole('button', { name, exact: true });
  const totals = () => table.locator('tbody tr:first-child td.cell-bar').first().textContent();
  const absolute = await totals();
  await choice('%').click();
  await table.getByRole('columnheader', { name: 'total %' }).waitFor();
  assert.match(await totals(), /^\d+\.\d%$/);
  await page.waitForFunction(() => location.hash.includes('show=') && location.hash.includes(':percent'));
  await table.getByRole('button', { name: /^Copy / }).click();
  await page.getByRole('menuitem', { name: 'Markdown' }).click();
  await page.locator('.toast').first().waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(copied.includes('total %') && copied.includes(await totals()), copied);
  await choice('Per step').click();
  await table.getByRole('columnheader', { name: 'total/step' }).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.goBack();
  await table.getByRole('columnheader', { name: 'total %' }).waitFor();
  await page.goBack();
  await table.getByRole('columnheader', { name: 'total', exact: true }).waitFor();
  assert.equal(await totals(), absolute);
});
