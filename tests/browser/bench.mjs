// How long the page takes from choosing a file to the whole overview on screen: node tests/browser/bench.mjs FILE…
//
// Beside it stand, from the same run: how long as many workers take that read the same file and do nothing with it, and for
// files up to 128 MB how long JSON.parse and one loop over the events take. On a busy computer these ratios say more than
// the numbers. Then the file is opened again, from its index. Of the page's own thread the longest task is told, and of all processes of the browser the peak of memory.
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { watchMemory } from './memory.mjs';
import { hasPlainBrowser, launchPlain } from './plain.mjs';
import { chromiumOptions, isReady, launchBrowser, openPage, startSite, waitUntilReady } from './support.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const N_READERS = Math.min(4, availableParallelism());
/** Larger texts are no match for JSON.parse. */
const MAX_PARSE_BYTES = 128e6;

const middle = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const ms = (number) => `${number.toFixed(0)} ms`;

/** Through the page, as a person does it. Gives milliseconds to the first report, to the whole overview (of all of the
 * file, in order and nested), to the last report, to when all is read and how many records that is, where reports take a while from then on; and the longest task. */
async function throughPage(page, path) {
  await page.evaluate(() => {
    const state = { first: 0, whole: 0, all: 0, read: 0, records: 0, longest: 0 };
    globalThis.bench = new Promise((resolve) => {
      const input = document.querySelector('[data-testid=file-input]');
      input.addEventListener('change', () => (state.start = performance.now()), { once: true, capture: true });
      const tasks = new PerformanceObserver((list) => {
        for (const { duration, startTime } of list.getEntries()) {
          if (state.start && startTime >= state.start) state.longest = Math.max(state.longest, duration);
        }
      });
      tasks.observe({ type: 'longtask' });
      const watch = new MutationObserver(() => {
        const panel = document.querySelector('[role=tabpanel]:not([hidden])');
        if (!state.start || state.all || !panel) return;
        if (!state.read && panel.querySelector('[role=progressbar]')?.getAttribute('aria-valuetext')?.startsWith('All is read')) {
          state.read = performance.now() - state.start;
          state.records = Number(panel.querySelector('[data-testid=records]').textContent.replace(/\D/g, ''));
        }
        if (panel.querySelector('.report:not([hidden]) :is(table, .findings)')) state.first ||= performance.now() - state.start;
        const isWhole = panel.querySelector('.report:not([hidden]) :is(table, .findings)') && !panel.querySelector('.report-head .badge');
        if (isWhole && !state.whole) {
          state.whole = -1;
          requestAnimationFrame(() => setTimeout(() => (state.whole = performance.now() - state.start)));
        }
        if (!panel.querySelector('.file-head') || !panel.querySelector('.report:not([hidden]) :is(table, .findings)')) return;
        state.all = -1;
        // It counts once it is drawn.
        requestAnimationFrame(() =>
          setTimeout(() => {
            watch.disconnect();
            state.all = performance.now() - state.start;
            setTimeout(() => (tasks.disconnect(), resolve(state)), 100);
          }),
        );
      });
      watch.observe(document.body, { subtree: true, childList: true, attributes: true });
    });
  });
  await page.getByTestId('file-input').setInputFiles(path);
  return page.evaluate(() => globalThis.bench);
}

/** What workers take that do without any of ours: `plain` reads, `parse` does what a simple viewer would. */
async function withoutUs(page, path, way, nWorkers) {
  const input = await page.evaluateHandle(() => {
    const element = document.createElement('input');
    element.type = 'file';
    document.body.append(element);
    return element;
  });
  await input.setInputFiles(path);
  return input.evaluate(
    async (input, [way, nWorkers]) => {
      const plain = async ({ data: file }) => {
        // Held by the worker: Chromium forgets a reader that only its reads hold.
        globalThis.reader = file.stream().getReader({ mode: 'byob' });
        const read = () => globalThis.reader.read(new Uint8Array(new ArrayBuffer(1 << 20)));
        const reads = [read(), read()];
        for (;;) {
          const { value, done } = await reads.shift();
          if (done) break;
          reads.push(globalThis.reader.read(new Uint8Array(value.buffer)));
        }
        postMessage('done');
      };
      const parse = async ({ data: file }) => {
        const { traceEvents } = JSON.parse(await file.text());
        const totals = new Map();
        for (const { name, dur } of traceEvents) totals.set(name, (totals.get(name) ?? 0) + (dur ?? 0));
        postMessage(totals.size);
      };
      const url = URL.createObjectURL(new Blob([`onmessage = ${{ plain, parse }[way]}`], { type: 'text/javascript' }));
      const file = input.files[0];
      const start = performance.now();
      await Promise.all(
        Array.from({ length: nWorkers }, (_, i) => {
          const worker = new Worker(url);
          return new Promise((resolve, reject) => {
            worker.onerror = (event) => reject(new Error(event.message));
            worker.onmessage = resolve;
            worker.postMessage(nWorkers === 1 ? file : file.slice((file.size * i) / nWorkers, (file.size * (i + 1)) / nWorkers));
          }).finally(() => worker.terminate());
        }),
      );
      URL.revokeObjectURL(url);
      return performance.now() - start;
    },
    [way, nWorkers],
  );
}

/** Opened again from its index, as after a visit before: the times. None if it is not kept. */
async function again(browser, path, url) {
  const page = await openPage(browser, url);
  await page.waitForTimeout(1500);
  await throughPage(page, path);
  const isKept = page.getByTestId('kept').locator('li').first().waitFor({ state: 'attached', timeout: 20_000 });
  const times = [];
  for (let round = 0; (await isKept.then(() => true, () => false)) && round < ROUNDS; round += 1) {
    await page.reload();
    await waitUntilReady(page);
    await page.waitForTimeout(1500);
    times.push((await throughPage(page, path)).all);
    if ((await page.getByTestId('from-index').count()) === 0) return [];
  }
  await page.context().close();
  return times;
}

/**
 * What a browser with one tab and a profile on disk takes, in words: before, and at its peak while it reads. One with a profile
 * that is forgotten would hold the index in memory. Empty where it can not be told.
 */
async function memoryOf(path, url) {
  if (process.platform !== 'linux' || !hasPlainBrowser) return '';
  const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const profile = mkdtempSync(join(tmpdir(), 'tracedrop-profile-'));
  const page = await launchPlain(chromiumOptions(), profile, url);
  try {
    while (!(await page.evaluate(isReady))) await later(100);
    await later(3000);
    const before = watchMemory()();
    const end = watchMemory();
    await throughPage(page, path);
    // The index is written after that.
    await later(2000);
    return `, memory ${(end() / 2 ** 20).toFixed(0)} MiB (${(before / 2 ** 20).toFixed(0)} before)`;
  } finally {
    await page.close();
    // Its processes end one after the other.
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error('usage: node tests/browser/bench.mjs FILE…');
  process.exit(2);
}
const site = await startSite();
try {
  for (const path of files) {
    // Of packed files the content counts, where it lies beside them.
    const content = path.replace(/\.gz$/, '');
    const isPacked = path !== content;
    const megabytes = statSync(existsSync(content) ? content : path).size / 1e6;
    const canParse = path.endsWith('.json') && megabytes * 1e6 <= MAX_PARSE_BYTES;
    const runs = [];
    const plain = [];
    const parse = [];
    let reopened = [];
    const browser = await launchBrowser();
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        // A page of its own for each round, as after it has been looked at for a moment.
        const page = await openPage(browser, site.url);
        await page.waitForTimeout(1500);
        runs.push(await throughPage(page, path));
        await page.context().close();
        const other = await openPage(browser, site.url);
        plain.push(await withoutUs(other, path, 'plain', isPacked ? 1 : N_READERS));
        if (canParse) parse.push(await withoutUs(other, path, 'parse', 1));
        await other.context().close();
      }
      reopened = await again(browser, path, site.url);
    } finally {
      await browser.close();
    }
    const memory = await memoryOf(path, site.url);
    const all = middle(runs.map((run) => run.all));
    const best = Math.min(...runs.map((run) => run.whole));
    const whole = middle(runs.map((run) => run.whole));
    const reads = runs.filter((run) => run.read > 0);
    const read = middle(reads.map((run) => run.read));
    const rows = reads.length > 0 ? `, all read in ${ms(read)} (${(reads[0].records / read / 1e3).toFixed(1)} million records/s)` : '';
    const ratio = (whole / middle(plain)).toFixed(2);
    console.log(
      `${basename(path)}: ${megabytes.toFixed(0)} MB in ${ms(whole)} (best ${ms(best)}), ${(megabytes / (whole / 1000)).toFixed(0)} MB/s${rows}, with all reports in ${ms(all)}; ` +
        `first report ${ms(middle(runs.map((run) => run.first)))}, longest task of the page ${ms(Math.max(...runs.map((run) => run.longest)))}${memory}; ` +
        `${ratio} times plain reading (${ms(middle(plain))}${isPacked ? ', packed' : ''})` +
        (reopened.length > 0 ? `; again from its index ${ms(middle(reopened))}` : '') +
        (canParse ? `, ${(whole / middle(parse)).toFixed(2)} times JSON.parse (${ms(middle(parse))})` : ''),
    );
  }
} finally {
  await site.close();
}
