// Accesses to memory: how they are labelled and judged is changed on the page, with the effect seen at once.
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { OUTPUT, accessibilityProblems, pageTests, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();
const pageTest = pageTests(given);
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const report = (page) => panel(page).locator('.report:not([hidden])');

/** Accesses as perf script prints them: some to a cache, some nobody knows. */
const lines = Array.from({ length: 200 }, (_, i) => {
  const symbol = i % 4 === 0 ? 'my_cache_read' : 'something_else';
  return `llm 100/100 ${(10 + i / 1000).toFixed(6)}: cpu/mem-loads/P: ${(0x7f0000000000 + 4096 * (i % 20)).toString(16)} 55d0 ${symbol}+0x10 (llm)`;
});

pageTest('rules, policy and thresholds are given on the page; what can not be read is said', async (page) => {
  await page.getByTestId('file-input').setInputFiles({ name: 'perf.txt', mimeType: 'text/plain', buffer: Buffer.from(lines.join('\n') + '\n') });
  await panel(page).locator('.file-head').waitFor();
  assert.equal(await report(page).getByRole('heading', { level: 2 }).textContent(), 'Memory by kind');
  await report(page).getByText('no latency or levels').waitFor();
  const summary = (text) => report(page).locator('.report-summary').getByText(text).waitFor();
  await report(page).getByText('How accesses are labelled and judged').click();
  await report(page).getByText('Label accesses by your own rules').click();
  const rules = report(page).getByRole('textbox').first();
  await rules.fill('[{"region_type": "kv_cache", "symbol_re": "my_cache"}]');
  await report(page).getByRole('button', { name: 'Apply' }).first().click();
  await summary(/most of those of a known kind are to kv_cache \(\d/);
  await page.getByTestId('unknown').selectOption({ label: 'are left out' });
  await summary(/most of those of a known kind are to kv_cache \(100/);
  await rules.fill('[{"region');
  await report(page).getByRole('button', { name: 'Apply' }).first().click();
  await report(page).getByText('What was asked for can not be read and counts for nothing: rules: ').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
});

pageTest('of many accesses the page says how much of the reports is made', async (page) => {
  const path = `${OUTPUT}/many.perf.txt`;
  await mkdir(OUTPUT, { recursive: true });
  await writeFile(path, Array.from({ length: 1_000_000 }, (_, i) => lines[i % lines.length].replace('10.', `${10 + i}.`)).join('\n') + '\n');
  try {
    await page.evaluate(() => {
      globalThis.said = [];
      const look = () => {
        const bar = document.querySelector('[role=progressbar]');
        const what = document.querySelector('.reading-what')?.textContent;
        if (/reports made/.test(what)) globalThis.said.push([what, bar.ariaValueNow, bar.ariaValueText]);
      };
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    });
    await page.getByTestId('file-input').setInputFiles(path);
    await panel(page).locator('.file-head').waitFor();
    const said = await page.evaluate(() => globalThis.said);
    assert.ok(said.length > 0);
    const percents = said.map(([what]) => Number(/^All is read; (\d+) % of the reports made$/.exec(what)[1]));
    assert.deepEqual(percents, [...percents].sort((a, b) => a - b));
    assert.ok(said.some(([what, now, text]) => text === what && what.includes(` ${now} %`)), JSON.stringify(said));
    await report(page).getByText('1,000,000').first().waitFor();
  } finally {
    await rm(path, { force: true });
  }
});
