// What five kinds of users come for: at most three actions lead from a dropped file to the answer, which then is in view.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { pageTests, siteAndBrowser, waitUntilReady } from './support.mjs';

const MAX_ACTIONS = 3;
const data = (name) => fileURLToPath(new URL(`../data/${name}`, import.meta.url));
const sample = (name) => fileURLToPath(new URL(`../../www/samples/${name}`, import.meta.url));
const pageTest = pageTests(siteAndBrowser());
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const report = (page) => panel(page).locator('.report:not([hidden])');

/** Counts what a person does: one choice of files, one click, one text typed. */
function person(page) {
  let n = 0;
  const act = (action) => {
    n += 1;
    assert.ok(n <= MAX_ACTIONS, 'too many actions');
    return action();
  };
  return {
    drop: (...files) => act(() => page.getByTestId('file-input').setInputFiles(files)),
    open: (title) => act(() => panel(page).getByRole('navigation').getByRole('link', { name: title, exact: true }).or(panel(page).getByRole('navigation').getByRole('button', { name: title, exact: true })).first().click()),
    filter: (table, text) => act(() => report(page).getByRole('searchbox', { name: `Filter ${table}` }).first().fill(text)),
    reads: async (...answers) => {
      for (const answer of answers) {
        const place = report(page).getByText(answer).first();
        await place.waitFor();
        await page.waitForFunction((it) => {
          const { top, bottom } = it.getBoundingClientRect();
          return top >= 0 && bottom <= innerHeight;
        }, await place.elementHandle(), { timeout: 5000 }).catch(() => assert.fail(`not in view: ${answer}`));
      }
    },
  };
}

pageTest('“why is B slower” is answered where a comparison opens', async (page) => {
  const kernelEngineer = person(page);
  await kernelEngineer.drop(data('pytorch/small-bert-h100.json.gz'), data('pytorch/small-bert-mi300.json.gz'));
  await kernelEngineer.reads(/Attention.*longer|Attention/, /^B takes/);
});

pageTest('“the kernels of a decode step” are one report and one filter away', async (page) => {
  const servingEngineer = person(page);
  await servingEngineer.drop(sample('gpu-serving.json'));
  await servingEngineer.open('Kernels');
  await servingEngineer.filter('Operations by phase', 'phase=decode');
  const table = report(page).locator('section.table').filter({ has: page.getByRole('heading', { name: 'Operations by phase' }) });
  await table.locator('.table-count').getByText('13 of').waitFor();
  await table.locator('tbody tr').first().getByText('1.015').waitFor();
});

pageTest('“which function is hot” is in the headline of a Python profile', async (page) => {
  const pythonPerson = person(page);
  await pythonPerson.drop(sample('python-threads.jsonl'));
  await pythonPerson.reads(/cpu_worker is hottest: 22\.3% self/, /Threads were waiting in 22\.2% of samples/);
});

pageTest('“which probe and view dominate, what did the cache save” is where forward passes open', async (page) => {
  const author = person(page);
  await author.drop(sample('scoring-suite.jsonl'));
  await author.reads(/which saved 2\.385 s/, /Probe “null_calibration” accounts for 50\.5% of the time/, 'Time by probe and view');
});

pageTest('“is this run valid, how long is the KV cache kept” is where a memory trace opens', async (page) => {
  const researcher = person(page);
  await researcher.drop(sample('kv-cache.parquet'));
  await researcher.reads('Run validity', 'kv_cache block lifetime (p50 of those read)', 'Memory touched', 'Memory kinds');
  const kept = report(page).locator('.fact').filter({ hasText: 'kv_cache block lifetime (p50 of those read)' });
  assert.match(await kept.textContent(), /672\.5 ms/);
});

pageTest('nothing jumps when a small file opens', async (page) => {
  await page.evaluate(() => {
    globalThis.sum = 0;
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) globalThis.sum += value;
    }).observe({ type: 'layout-shift' });
  });
  await page.getByTestId('file-input').setInputFiles(sample('gpu-serving.json'));
  await page.locator('.file-head').waitFor();
  await page.waitForTimeout(500);
  const sum = await page.evaluate(() => globalThis.sum);
  assert.ok(sum < 0.05, `${sum}`);
});

pageTest('nothing jumps when the app takes over from the loading text', async (page) => {
  await page.addInitScript(() => {
    globalThis.shifts = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const sources = entry.sources.map(({ node }) => node?.className || node?.nodeName);
        if (!entry.hadRecentInput) globalThis.shifts.push({ value: entry.value, sources });
      }
    }).observe({ type: 'layout-shift', buffered: true });
  });
  await page.reload();
  await waitUntilReady(page);
  await page.waitForTimeout(1000);
  const shifts = await page.evaluate(() => globalThis.shifts);
  const sum = shifts.reduce((sum, { value }) => sum + value, 0);
  assert.ok(sum < 0.05, `${sum}, ${JSON.stringify(shifts)}`);
});
