// GPU reports, with the sample of the start screen.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { NARROW, WIDE, accessibilityProblems, openPage, pageTests, showReport, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();
const pageTest = pageTests(given);

const report = (page) => page.locator('.report:not([hidden])');
async function openSample(page) {
  await page.getByRole('button', { name: 'vLLM on an H100' }).click();
  await page.locator('.file-head').waitFor();
}
/** Rows of the table of that title, as texts of cells. */
async function rows(page, title) {
  const table = report(page).locator('section.table').filter({ has: page.getByRole('heading', { name: title, exact: true }) });
  // Blocks are rendered one after the other.
  await table.locator('tbody tr').first().waitFor();
  const rows = await table.locator('tbody tr').all();
  return Promise.all(rows.map((row) => row.locator('td').allTextContents()));
}

pageTest('a PyTorch profile opens with the findings, which link to their rows', async (page) => {
  await openSample(page);
  assert.equal(await report(page).getByRole('heading', { level: 2 }).textContent(), 'Findings');
  // They are rendered after the heading.
  await report(page).locator('.finding').nth(4).waitFor();
  const findings = await report(page).locator('.finding').all();
  // The largest upper bound first.
  assert.match(await findings[0].textContent(), /GEMM accounts for 63\.2% of kernel time/);
  const host = report(page).locator('.finding').filter({ hasText: 'waited for the host' }).first();
  assert.match(await host.textContent(), /waited for the host 22\.7% of the time/);
  // By keyboard: to a table with a filter field.
  const slow = report(page).locator('.finding').filter({ hasText: 'GEMM' }).last();
  await slow.getByRole('button', { name: 'Kernels: Kernels by name' }).focus();
  await page.keyboard.press('Enter');
  const heading = report(page).getByRole('heading', { name: 'Kernels by name', exact: true });
  await heading.waitFor();
  await page.waitForFunction(() => document.activeElement?.textContent.trim() === 'Kernels by name');
  // A table shown in full is not filtered.
  await showReport(page, 'Findings');
  await report(page).locator('.finding').filter({ hasText: 'Launch-bound' }).getByRole('button').first().click();
  await report(page).getByRole('heading', { name: 'Launches', exact: true }).waitFor();
  // The wait for the host leads to its gaps, as they have places in the timeline.
  await showReport(page, 'Findings');
  await host.getByRole('button').first().click();
  await report(page).getByRole('heading', { name: 'Longest gaps', exact: true }).waitFor();
  await report(page).getByRole('row', { name: /waiting for the host/ }).first().waitFor();
  // One with a filter is filtered by the subject of the finding.
  await showReport(page, 'Findings');
  const gaps = report(page).locator('.finding').filter({ hasText: 'Short gaps between kernels' });
  await gaps.getByRole('button').first().click();
  const row = report(page).locator('tr[aria-selected=true]:focus');
  await row.waitFor();
  assert.match(await row.textContent(), /between kernels/);
  // The kernels of a finding are lit in the timeline.
  await showReport(page, 'Findings');
  await slow.getByRole('button', { name: 'Show in the timeline' }).click();
  await report(page).locator('.timeline-count').getByText(/^1 of \d+$/).waitFor();
});

pageTest('GPU time shows where the GPU time went, in numbers and as a chart', async (page) => {
  await openSample(page);
  await showReport(page, 'GPU time');
  assert.equal(await report(page).getByRole('heading', { level: 2 }).textContent(), 'GPU time');
  const parts = await rows(page, 'Time breakdown');
  assert.deepEqual(parts.map((row) => row[1].trim()), ['computation', 'exposed communication', 'exposed copies', 'idle']);
  const shares = parts.map((row) => Number.parseFloat(row[3]));
  assert.ok(Math.abs(shares.reduce((a, b) => a + b) - 100) < 0.3, `${shares}`);
  // The lengths in the chart match.
  const drawing = report(page).getByRole('img', { name: 'GPU time by part' });
  await drawing.waitFor();
  const widths = await drawing.locator('rect').evaluateAll((rects) => rects.map((rect) => Number(rect.getAttribute('width'))));
  const whole = widths.reduce((a, b) => a + b);
  const seen = shares.filter((share) => share > 0);
  assert.equal(widths.length, seen.length);
  widths.forEach((width, at) => assert.ok(Math.abs((100 * width) / whole - seen[at]) < 0.2));
  await report(page).getByRole('img', { name: 'Time per step' }).waitFor();
});

pageTest('a custom rule classifies kernels, is saved, and can be removed', async (page) => {
  await openSample(page);
  await showReport(page, 'Kernels');
  await report(page).getByText('Custom kernel rules').click();
  const field = report(page).getByRole('textbox', { name: /One rule per line/ });
  const operations = async () => (await rows(page, 'Operations')).map((row) => row[0].trim());
  assert.ok(!(await operations()).includes('House blend'));

  await field.fill('House blend | ours | our library | base starts');
  await page.getByRole('button', { name: 'Apply' }).click();
  await report(page).getByText(/Custom kernel rules ignored/).first().waitFor();

  await field.fill('operation | House blend | compute\nHouse blend | ours | our library | whole has fused_add_rms_norm');
  await page.getByRole('button', { name: 'Apply' }).click();
  await report(page).getByRole('gridcell', { name: 'House blend', exact: true }).first().waitFor();
  assert.equal(await report(page).getByText(/Custom kernel rules ignored/).count(), 0);

  await page.reload();
  await openSample(page);
  await showReport(page, 'Kernels');
  await report(page).getByRole('gridcell', { name: 'House blend', exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.waitForFunction(() => !document.querySelector('.report:not([hidden])')?.textContent.includes('House blend'));
});

pageTest('a chart is saved as SVG', async (page) => {
  await openSample(page);
  await showReport(page, 'GPU time');
  const picture = report(page).locator('figure').filter({ has: page.getByRole('heading', { name: 'GPU time by part' }) });
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    picture.getByRole('button', { name: 'Save as SVG' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'breakdown.svg');
  const text = await readFile(await download.path(), 'utf8');
  assert.match(text, /^<svg /);
  for (const part of ['http://www.w3.org/2000/svg', '>GPU time by part</text>', '>computation</text>', '>idle</text>']) {
    assert.ok(text.includes(part), part);
  }
});

pageTest('the critical path covers the requested range', async (page) => {
  await openSample(page);
  await showReport(page, 'Critical path');
  const summary = report(page).locator('.report-summary');
  assert.match(await summary.textContent(), /the longest of 10 steps/);
  await page.getByText('Analyze another range').click();
  const field = report(page).getByRole('textbox', { name: /Part of a range's name/ });
  await field.fill('execute_context @ 2');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.waitForFunction(() =>
    document.querySelector('.report:not([hidden]) .report-summary')?.textContent.includes('"execute_context" 2 (of 0–9)'),
  );
  await field.fill('no such range');
  await page.getByRole('button', { name: 'Apply' }).click();
  await report(page).getByText(/Cannot analyze the chosen range/).waitFor();
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.waitForFunction(() =>
    document.querySelector('.report:not([hidden]) .report-summary')?.textContent.includes('the longest of 10 steps'),
  );
});

for (const [colorScheme, size, viewport] of [['light', 'wide', WIDE], ['dark', 'narrow', NARROW]]) {
  pageTest(`axe finds no problems in the GPU reports, ${colorScheme}, ${size}`, async (unused) => {
    await unused.close();
    const page = await openPage(given.browser, given.site.url, { colorScheme, viewport });
    await openSample(page);
    for (const title of ['Findings', 'GPU time', 'Kernels', 'Operators', 'Layers', 'Idle and launch', 'Critical path']) {
      await showReport(page, title);
      assert.equal((await accessibilityProblems(page)).join('\n'), '', title);
      // No horizontal overflow.
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), title);
    }
    await page.context().close();
  });
}
