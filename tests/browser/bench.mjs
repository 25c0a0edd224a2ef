// Time from choosing a file to the complete overview on screen: node tests/browser/bench.mjs FILE…
//
// The same run measures the time that the same number of workers need to read the file without parsing it, and for files up to
// 128 MB the time of JSON.parse and one loop over the events. On a busy computer these ratios are more reliable than the
// absolute numbers. Then the file is reopened from its index. Also reported: the longest task of the main thread, and the peak
// memory of all browser processes.
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { watchMemory } from './memory.mjs';
import { hasPlainBrowser, launchPlain } from './plain.mjs';
import { chromiumOptions, isReady, launchBrowser, openPage, startSite, waitUntilReady } from './support.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const N_READERS = Math.min(4, availableParallelism());
/** Limit for JSON.parse. */
const MAX_PARSE_BYTES = 128e6;

const middle = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const ms = (number) => `${number.toFixed(0)} ms`;

/** Opens the file in the page. Returns the milliseconds to the first report, to the complete overview, to the last report and,
 * where reports take a while to build, to the end of parsing; also the number of records then, and the longest task. */
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
        if (!state.read && panel.querySelector('[role=progressbar]')?.getAttribute('aria-valuetext')?.startsWith('Building reports')) {
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
        // Measured once it is rendered.
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

/** Time without Tracedrop: `plain` only reads, `parse` does what a simple viewer would. */
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
        // A global reference: Chromium collects a reader that only its reads reference.
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

/** Times to reopen the file from its index; empty if it was not cached. */
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
 * Memory of a browser with one tab, as text: before, and the peak while parsing. With a profile on disk, because a temporary
 * one would keep the index in memory. Empty where it cannot be measured.
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
    // Its processes end one by one.
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
    // For compressed files use the size of the content, if it is in the same folder.
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
        // A new page for each round, after a moment of rest.
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
    const rows = reads.length > 0 ? `, parsed in ${ms(read)} (${(reads[0].records / read / 1e3).toFixed(1)} million records/s)` : '';
    const ratio = (whole / middle(plain)).toFixed(2);
    console.log(
      `${basename(path)}: ${megabytes.toFixed(0)} MB in ${ms(whole)} (best ${ms(best)}), ${(megabytes / (whole / 1000)).toFixed(0)} MB/s${rows}, with all reports in ${ms(all)}; ` +
        `first report ${ms(middle(runs.map((run) => run.first)))}, longest task of the page ${ms(Math.max(...runs.map((run) => run.longest)))}${memory}; ` +
        `${ratio}× plain reading (${ms(middle(plain))}${isPacked ? ', compressed' : ''})` +
        (reopened.length > 0 ? `; reopened from its index ${ms(middle(reopened))}` : '') +
        (canParse ? `, ${(whole / middle(parse)).toFixed(2)}× JSON.parse (${ms(middle(parse))})` : ''),
    );
  }
} finally {
  await site.close();
}
