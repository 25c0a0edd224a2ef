// Failing workers and storage: the page notices, goes on without them, and keeps no more workers than it needs.
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { after, before } from 'node:test';
import { checkTotals, makeTrace } from './made-trace.mjs';
import { OUTPUT, pageTests, showReport, siteAndBrowser, waitUntilReady } from './support.mjs';

const given = siteAndBrowser();
const LARGE = `${OUTPUT}/workers-8-megabytes.json`;
const GONE = `${OUTPUT}/workers-gone.json`;
let totals;

before(async () => {
  await mkdir(OUTPUT, { recursive: true });
  totals = await makeTrace(LARGE, 8e6);
});
after(() => Promise.all([LARGE, GONE].map((path) => rm(path, { force: true }))));

const pageTest = pageTests(given);
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const tabs = (page) => page.getByRole('tab');
const report = (page) => panel(page).locator('.report:not([hidden])');
const head = (page) => panel(page).locator('.file-head').waitFor({ timeout: 120_000 });
const choose = (page, ...files) => page.getByTestId('file-input').setInputFiles(files);
const file = (name, text) => ({ name, mimeType: '', buffer: Buffer.from(text) });
const events = (n) => Array.from({ length: n }, (_, i) => ({ ph: 'X', name: `op ${i}`, pid: 1, tid: 1, ts: 100 * i, dur: 10 + i }));
const trace = (n) => JSON.stringify(events(n));

/** Reloads the page with `inWorker` at the start of each of its workers. */
async function withWorkersThat(page, inWorker) {
  await page.addInitScript(`
    const { createObjectURL } = URL;
    URL.createObjectURL = (blob) => {
      const isScript = blob instanceof Blob && blob.type === 'text/javascript';
      return createObjectURL.call(URL, isScript ? new Blob([${JSON.stringify(`(${inWorker})();\n`)}, blob], { type: blob.type }) : blob);
    };`);
  await page.reload();
  await waitUntilReady(page);
}

pageTest('the page notices a worker that the browser ends without an event while parsing', async (page) => {
  await withWorkersThat(page, () => {
    const { read } = ReadableStreamBYOBReader.prototype;
    // End the reading worker, as when memory runs out.
    ReadableStreamBYOBReader.prototype.read = function (...given) {
      close();
      return read.apply(this, given);
    };
  });
  await choose(page, LARGE);
  const problem = panel(page).getByRole('alert');
  await problem.getByRole('heading', { name: 'The worker crashed' }).waitFor();
  await problem.getByRole('button', { name: 'Start again' }).waitFor();
});

pageTest('a worker that the browser ends later is restarted when the report needs it', async (page) => {
  await choose(page, file('made.json', trace(40)));
  await head(page);
  // It may end before it answers.
  await Promise.all(page.workers().map((worker) => worker.evaluate(() => close()).catch(() => {})));
  while (page.workers().length > 0) await page.waitForTimeout(20);
  await showReport(page, 'Slices by name');
  await report(page).getByRole('columnheader', { name: 'name', exact: true }).getByRole('button').click();
  await report(page).locator('section.table:not(.table-stale) tbody td').first().filter({ hasText: /^op 0$/ }).waitFor();
  assert.match(await panel(page).locator('.verdict p').textContent(), /40 events/);
});

pageTest('losing a helper without an event costs only time', async (page) => {
  await withWorkersThat(page, () => {
    // Only helpers get a message with nothing but a port.
    addEventListener('message', ({ data }) => {
      if (Array.isArray(data) && data.length === 2 && data[1] instanceof MessagePort) setTimeout(close, 50);
    });
  });
  await choose(page, LARGE);
  await checkTotals(page, totals);
});

pageTest('the page works without storage that never responds', async (page) => {
  await withWorkersThat(page, () => {
    StorageManager.prototype.getDirectory = () => new Promise(() => {});
  });
  await choose(page, LARGE);
  await checkTotals(page, totals);
});

pageTest('an export of a deleted file stops at the first event and shows an error', async (page) => {
  await withWorkersThat(page, () => {
    globalThis.nFailed = 0;
    const { readAsArrayBuffer } = FileReaderSync.prototype;
    FileReaderSync.prototype.readAsArrayBuffer = function (...given) {
      try {
        return readAsArrayBuffer.apply(this, given);
      } catch (error) {
        globalThis.nFailed += 1;
        throw error;
      }
    };
  });
  const many = events(20_000).map((event, i) => ({ ...event, args: { i } }));
  await writeFile(GONE, JSON.stringify(many));
  await choose(page, GONE);
  await head(page);
  await rm(GONE);
  const failed = async () => {
    const counts = await Promise.all(page.workers().map((worker) => worker.evaluate(() => globalThis.nFailed)));
    return counts.reduce((sum, n) => sum + n, 0);
  };
  for (let n = 1; n <= 2; n += 1) {
    await panel(page).getByRole('button', { name: 'Export' }).click();
    await page.getByRole('menuitem', { name: /^Chrome trace/ }).click();
    const alert = page.getByRole('alert').getByText(/^Arguments are missing: .*Open the file again\.$/);
    await alert.waitFor();
    await page.getByRole('alert').getByRole('button', { name: 'Dismiss' }).click();
    assert.equal(await failed(), n);
  }
});

pageTest('hidden tabs release their workers and restart them on demand', async (page) => {
  const N_TABS = 20;
  for (let n = 0; n < N_TABS; n += 1) {
    await choose(page, file(`tab ${n}.json`, trace(30 + n)));
    await head(page);
    // They are not compared, because each is opened alone.
    await tabs(page).nth(n).and(page.locator('[aria-selected=true]')).waitFor();
  }
  const nHelpers = await page.evaluate(() => Math.min(4, navigator.hardwareConcurrency) - 1);
  const few = async () => {
    while (page.workers().length > 13 + nHelpers) await page.waitForTimeout(20);
  };
  await few();
  // The first tab looks as before, and responds.
  await tabs(page).first().click();
  assert.match(await panel(page).locator('.verdict p').textContent(), /30 events/);
  await showReport(page, 'Slices by name');
  const cell = (text) => report(page).locator('section.table:not(.table-stale) tbody tr').first().locator('td').first().filter({ hasText: text });
  await cell(/^op 29$/).waitFor();
  await report(page).getByRole('columnheader', { name: 'name', exact: true }).getByRole('button').click();
  await cell(/^op 0$/).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    panel(page)
      .getByRole('button', { name: 'Export' })
      .click()
      .then(() => page.getByRole('menuitem', { name: /^Markdown/ }).click()),
  ]);
  assert.match(download.suggestedFilename(), /^tab 0\.md$/);
  // Visiting all tabs leaves no more workers.
  for (let n = 1; n < N_TABS; n += 1) {
    await tabs(page).nth(n).click();
    await showReport(page, 'Slices by name');
    await report(page).getByRole('columnheader', { name: 'name', exact: true }).getByRole('button').click();
    await cell(/^op 0$/).waitFor();
  }
  await few();
});

pageTest('a tab that shows an error keeps no worker', async (page) => {
  const others = () => page.workers().length;
  await choose(page, file('first.json', trace(3)));
  await head(page);
  const before = others();
  for (let n = 0; n < 4; n += 1) {
    await choose(page, file(`bad ${n}.txt`, 'nothing that is known\n'));
    await panel(page).getByRole('alert').waitFor();
  }
  while (others() > before) await page.waitForTimeout(20);
});
