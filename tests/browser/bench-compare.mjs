// Extra time to compare two traces after parsing both: node tests/browser/bench-compare.mjs A B
//
// Both are chosen at once. Measured are the time until both tabs are parsed and the time until the comparison is on screen,
// in the same run, and the peak memory of all browser processes.
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { watchMemory } from './memory.mjs';
import { launchBrowser, openPage, startSite } from './support.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? 3);
const MAX_MS = 300_000;
const middle = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

const pair = process.argv.slice(2);
if (pair.length !== 2) {
  console.error('usage: node tests/browser/bench-compare.mjs A B');
  process.exit(2);
}

/** Milliseconds until both are parsed and until they are compared, and the peak memory in bytes. */
async function compared(url) {
  const browser = await launchBrowser();
  try {
    const page = await openPage(browser, url);
    await page.waitForTimeout(1500);
    const end = process.platform === 'linux' ? watchMemory() : () => 0;
    await page.evaluate((limit) => {
      const input = document.querySelector('[data-testid=file-input]');
      globalThis.bench = new Promise((resolve, reject) => {
        input.addEventListener('change', () => {
          const start = performance.now();
          const state = { read: 0 };
          const timer = setInterval(() => {
            const gone = performance.now() - start;
            const tabs = [...document.querySelectorAll('[role=tab]')];
            if (!state.read && tabs.length >= 2 && tabs.slice(0, 2).every((tab) => !tab.querySelector('.tab-busy'))) state.read = gone;
            const isThere = tabs.length === 3 && document.querySelector('[role=tabpanel]:not([hidden]) .sides-pair');
            if (!isThere && gone < limit) return;
            clearInterval(timer);
            if (isThere) resolve({ ...state, all: gone });
            else reject(new Error('the comparison did not appear'));
          }, 10);
        }, { once: true, capture: true });
      });
    }, MAX_MS);
    await page.getByTestId('file-input').setInputFiles(pair);
    return { ...(await page.evaluate(() => globalThis.bench)), memory: end() };
  } finally {
    await browser.close();
  }
}

const site = await startSite();
try {
  const runs = [];
  for (let round = 0; round < ROUNDS; round += 1) runs.push(await compared(site.url));
  const megabytes = pair.reduce((sum, path) => sum + statSync(path).size / 1e6, 0);
  const extra = middle(runs.map(({ read, all }) => (100 * (all - read)) / read));
  const seconds = (name) => (middle(runs.map((run) => run[name])) / 1000).toFixed(2);
  console.log(
    `${pair.map((path) => basename(path)).join(' and ')}: ${megabytes.toFixed(0)} MB parsed in ${seconds('read')} s, ` +
      `compared in ${seconds('all')} s (${extra.toFixed(1)}% more), memory ${(middle(runs.map((run) => run.memory)) / 2 ** 20).toFixed(0)} MiB`,
  );
} finally {
  await site.close();
}
