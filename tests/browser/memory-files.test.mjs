// Configurations and address ranges for memory access traces, and how their files are parsed.
import assert from 'node:assert/strict';
import { pageTests, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();
const pageTest = pageTests(given);

const file = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
const pick = (page, ...files) => page.getByTestId('file-input').setInputFiles(files);
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const summary = (page) => panel(page).locator('.report-summary').first();

const CONFIG = `experiment: {name: pilot}
models:
  - {id: tiny, engine: vllm, path: /models/tiny}
sweep: {context_lengths: [512, 2048], repetitions: 3, warmup_runs: 1}
`;
const RANGES = '[{"addr_start": 4096, "addr_end": 8192, "region_type": "kv_cache"}]';
const PERF = Array.from(
  { length: 40 },
  (_, n) => `prog  10 [000]  ${10 + n}.000000:  cpu/mem-loads/:  ${(0x1000 + n * 64).toString(16)}  4005d0 work+0x1 (/bin/prog)`,
).join('\n');

pageTest('a configuration is validated and expanded into runs', async (page) => {
  await pick(page, file('pilot.yaml', CONFIG));
  await summary(page).getByText('Valid configuration: 6 runs and 2 warm-ups').waitFor();
  await panel(page).getByText('tiny_ctx512_batch1_out128_warmup').first().waitFor();
});

pageTest('address ranges apply to a trace, or are shown as what they are', async (page) => {
  await pick(page, file('kv_ranges.json', RANGES));
  await summary(page).getByText('for a memory trace').waitFor();
  await pick(page, file('run.txt', PERF), file('kv_ranges.json', RANGES));
  await panel(page).getByText('From kv_ranges.json.').waitFor();
  assert.deepEqual(await page.locator('.tab-name').allTextContents(), ['kv_ranges.json', 'run.txt']);
  // Again, for the visible trace.
  await pick(page, file('other_ranges.json', RANGES.replace('8192', '12288')));
  await panel(page).getByText('From other_ranges.json.').waitFor();
  assert.match(await panel(page).locator('textarea').last().inputValue(), /12288/);
});

pageTest('a trace can be parsed as mrm-trace 0.1.0 does, and rules can be edited', async (page) => {
  await pick(page, file('run.txt', PERF));
  await panel(page).getByText('Labeling and validity').click();
  await panel(page).getByTestId('read-as').selectOption('seed');
  const details = async () => {
    await panel(page).getByRole('button', { name: 'Parsing details' }).click();
    await panel(page).locator('.meta').waitFor();
  };
  await details();
  await panel(page).locator('.meta').getByText('parsed as in mrm-trace 0.1.0').waitFor();
  await panel(page).getByTestId('read-as').selectOption('usual');
  await panel(page).locator('.meta').getByText('parsed as in mrm-trace 0.1.0').waitFor({ state: 'detached' });
  // Parsed again, it is another report, whose settings are collapsed.
  const settings = panel(page).locator('details', { hasText: 'Labeling and validity' }).first();
  if (!(await settings.evaluate((details) => details.open))) await settings.locator('summary').first().click();
  await panel(page).locator('summary').filter({ hasText: 'rules' }).first().click();
  await panel(page).getByTestId('start-from-builtin').click();
  assert.match(await panel(page).locator('textarea').first().inputValue(), /llama_kv/);
});
