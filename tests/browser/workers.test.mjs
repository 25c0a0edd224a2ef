// Failing workers and storage: the page notices, goes on without them, and keeps no more workers than it needs.
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkTotals, makeTrace } from './made-trace.mjs';
import { OUTPUT, openPage, pageTests, showReport, siteAndBrowser, waitUntilReady } from './support.mjs';

const given = siteAndBrowser();
const LARGE = `${OUTPUT}/workers-8-megabytes.json`;
const GONE = `${OUTPUT}/workers-gone.json`;
const RUN = fileURLToPath(new URL('../data/mrm/runs/tiny-24/tiny-24_ctx2048_batch1_out64_rep0_20260101T000000Z', import.meta.url));
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

pageTest('storage that refuses everything costs only the list of recent files', async (page) => {
  await withWorkersThat(page, () => {
    StorageManager.prototype.getDirectory = () => Promise.reject(new DOMException('refused', 'SecurityError'));
  });
  await choose(page, LARGE);
  await checkTotals(page, totals);
  await page.reload();
  await waitUntilReady(page);
  assert.equal(await page.getByTestId('kept').count(), 0);
});

pageTest('storage that lists files but lets none be written keeps nothing', async (page) => {
  await withWorkersThat(page, () => {
    FileSystemFileHandle.prototype.createSyncAccessHandle = () => Promise.reject(new DOMException('refused', 'NoModificationAllowedError'));
  });
  await choose(page, LARGE);
  await checkTotals(page, totals);
  // Its SHA-256 comes after the attempt to keep it.
  await panel(page).getByRole('button', { name: 'Parsing details', exact: true }).click();
  await panel(page).getByTestId('digest').waitFor();
  await page.keyboard.press('s');
  assert.equal(await page.getByTestId('kept').count(), 0);
});

test('without caches, settings and a service worker the page works', async () => {
  const refused = () => {
    const refuse = () => Promise.reject(new DOMException('refused', 'SecurityError'));
    for (const name of ['open', 'has', 'match', 'keys', 'delete']) CacheStorage.prototype[name] = refuse;
    ServiceWorkerContainer.prototype.register = refuse;
    for (const name of ['localStorage', 'sessionStorage']) {
      Object.defineProperty(globalThis, name, { get: () => { throw new DOMException('refused', 'SecurityError'); } });
    }
  };
  const page = await openPage(given.browser, given.site.url);
  await page.addInitScript(refused);
  await page.reload();
  await waitUntilReady(page);
  await choose(page, file('made.json', trace(40)));
  await head(page);
  assert.match(await panel(page).locator('.verdict p').textContent(), /40 events/);
  await page.keyboard.press('t');
  await page.context().close();
});

/** Deletes all indexes behind the page's back. */
const emptyStorage = (page) =>
  page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('tracedrop-indexes');
    for await (const name of folder.keys()) await folder.removeEntry(name);
  });

pageTest('an index that is gone is said to be gone, and its file opens by itself', async (page) => {
  await choose(page, LARGE);
  await checkTotals(page, totals);
  await panel(page).getByRole('button', { name: 'Parsing details', exact: true }).click();
  await panel(page).getByTestId('digest').waitFor();
  await page.reload();
  await waitUntilReady(page);
  const recent = page.getByTestId('kept').getByRole('button', { name: /^workers-8-megabytes/ });
  await recent.waitFor();
  await emptyStorage(page);
  await recent.click();
  const problem = panel(page).getByRole('alert');
  await problem.getByText("this file is no longer in the browser's cache").waitFor();
  await choose(page, LARGE);
  await checkTotals(page, totals);
});

pageTest('a file that is deleted after it opened from its index is missed once its arguments are asked for', async (page) => {
  const bytes = await readFile(LARGE);
  await writeFile(GONE, bytes);
  await choose(page, GONE);
  await head(page);
  await panel(page).getByRole('button', { name: 'Parsing details', exact: true }).click();
  await panel(page).getByTestId('digest').waitFor();
  await page.reload();
  await waitUntilReady(page);
  await choose(page, GONE);
  await panel(page).getByTestId('from-index').waitFor();
  await rm(GONE);
  await panel(page).getByRole('button', { name: 'Export' }).click();
  await page.getByRole('menuitem', { name: /^Chrome trace/ }).click();
  await page.getByRole('alert').getByText(/^Arguments are missing: .*Open the file again\.$/).waitFor();
});

pageTest('files next to a trace that cannot be read are listed without their content', async (page) => {
  await withWorkersThat(page, () => {
    const { arrayBuffer } = Blob.prototype;
    Blob.prototype.arrayBuffer = function () {
      const isMetadata = this instanceof File && this.name === 'metadata.json';
      return isMetadata ? Promise.reject(new DOMException('gone', 'NotReadableError')) : arrayBuffer.call(this);
    };
  });
  await page.getByTestId('folder-input').setInputFiles(RUN);
  await head(page);
  await showReport(page, 'Run directory');
  const files = report(page).locator('.table').first();
  await files.getByText('metadata.json').first().waitFor();
  assert.match(await files.textContent(), /metadata\.json\? not read to the end/);
  assert.match(await files.textContent(), /trace\.parquet✓ ok/);
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
