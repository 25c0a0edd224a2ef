// Memory accesses: changes of labeling and validity rules on the page take effect at once.
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { OUTPUT, accessibilityProblems, pageTests, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();
const pageTest = pageTests(given);
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const report = (page) => panel(page).locator('.report:not([hidden])');

/** Accesses as perf script prints them: some to a cache, some unclassified. */
const lines = Array.from({ length: 200 }, (_, i) => {
  const symbol = i % 4 === 0 ? 'my_cache_read' : 'something_else';
  return `llm 100/100 ${(10 + i / 1000).toFixed(6)}: cpu/mem-loads/P: ${(0x7f0000000000 + 4096 * (i % 20)).toString(16)} 55d0 ${symbol}+0x10 (llm)`;
});

pageTest('rules, policy and thresholds can be set on the page; invalid ones are reported', async (page) => {
  await page.getByTestId('file-input').setInputFiles({ name: 'perf.txt', mimeType: 'text/plain', buffer: Buffer.from(lines.join('\n') + '\n') });
  await panel(page).locator('.file-head').waitFor();
  assert.equal(await report(page).getByRole('heading', { level: 2 }).textContent(), 'Memory by kind');
  await report(page).getByText('no latency or memory levels').first().waitFor();
  const summary = (text) => report(page).locator('.report-summary').getByText(text).waitFor();
  await report(page).getByText('Labeling and validity').click();
  await report(page).getByText('Custom labeling rules').click();
  const rules = report(page).getByRole('textbox').first();
  await rules.fill('[{"region_type": "kv_cache", "symbol_re": "my_cache"}]');
  await report(page).getByRole('button', { name: 'Apply' }).first().click();
  await summary(/\d% go to kv_cache, the largest known kind/);
  await page.getByTestId('unknown').selectOption({ label: 'skip' });
  await summary(/100\.0% go to kv_cache, the largest known kind/);
  await rules.fill('[{"region');
  await report(page).getByRole('button', { name: 'Apply' }).first().click();
  await report(page).getByText('Ignored an invalid setting: rules: ').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
});

pageTest('for many accesses the page shows the progress of building reports', async (page) => {
  const path = `${OUTPUT}/many.perf.txt`;
  await mkdir(OUTPUT, { recursive: true });
  await writeFile(path, Array.from({ length: 1_000_000 }, (_, i) => lines[i % lines.length].replace('10.', `${10 + i}.`)).join('\n') + '\n');
  try {
    await page.evaluate(() => {
      globalThis.said = [];
      const look = () => {
        const bar = document.querySelector('[role=progressbar]');
        const what = document.querySelector('.reading-what')?.textContent;
        if (/^Building reports: /.test(what)) globalThis.said.push([what, bar.ariaValueNow, bar.ariaValueText]);
      };
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    });
    await page.getByTestId('file-input').setInputFiles(path);
    await panel(page).locator('.file-head').waitFor();
    const said = await page.evaluate(() => globalThis.said);
    assert.ok(said.length > 0);
    const percents = said.map(([what]) => Number(/^Building reports: (\d+)%$/.exec(what)[1]));
    assert.deepEqual(percents, [...percents].sort((a, b) => a - b));
    assert.ok(said.some(([what, now, text]) => text === what && what.includes(` ${now}%`)), JSON.stringify(said));
    await report(page).getByText('1,000,000').first().waitFor();
  } finally {
    await rm(path, { force: true });
  }
});
