// MB/s in Chromium's worker, from a File to the finished report: node tests/browser/bench.mjs FILE…
//
// Past the page, so that only reading is measured. Beside it stands what a worker takes that reads the same file and does
// nothing with it: on a busy computer that ratio says more than the number.
import { existsSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { inputWith, readInWorker } from './protocol.mjs';
import { launchBrowser, openPage, startSite } from './support.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? 5);
/** Workers that help the one that reads, as many as the page would have. */
const HELPERS = Number(process.env.HELPERS ?? Math.min(4, availableParallelism()) - 1);

/** Milliseconds for the bytes of the file alone, as quickly as a worker can have them. */
async function readPlainly(input) {
  const work = async ({ data: file }) => {
    const start = performance.now();
    // Held by the worker: Chromium forgets a reader that only its reads hold.
    globalThis.reader = file.stream().getReader({ mode: 'byob' });
    const read = () => globalThis.reader.read(new Uint8Array(new ArrayBuffer(1 << 20)));
    const reads = [read(), read()];
    for (;;) {
      const { value, done } = await reads.shift();
      if (done) break;
      reads.push(globalThis.reader.read(new Uint8Array(value.buffer)));
    }
    postMessage(performance.now() - start);
  };
  const url = URL.createObjectURL(new Blob([`onmessage = ${work}`], { type: 'text/javascript' }));
  const worker = new Worker(url);
  const ms = await new Promise((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message));
    worker.onmessage = ({ data }) => resolve(data);
    worker.postMessage(input.files[0]);
  });
  worker.terminate();
  URL.revokeObjectURL(url);
  return ms;
}

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error('usage: node tests/browser/bench.mjs FILE…');
  process.exit(2);
}
const site = await startSite();
const browser = await launchBrowser();
try {
  for (const path of files) {
    const page = await openPage(browser, site.url);
    const input = await inputWith(page, [path]);
    // As after a page has been looked at for a moment.
    await page.waitForTimeout(2000);
    const runs = [];
    const plain = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      runs.push(await input.evaluate(readInWorker, { helpers: HELPERS }));
      plain.push(await input.evaluate(readPlainly));
    }
    plain.sort((a, b) => a - b);
    // Of packed files the content counts, where it lies beside them.
    const content = path.replace(/\.gz$/, '');
    const megabytes = statSync(existsSync(content) ? content : path).size / 1e6;
    const fileMegabytes = statSync(path).size / 1e6;
    const first = runs[0];
    runs.sort((a, b) => a.all - b.all);
    const best = runs[0];
    const middle = runs[Math.floor(ROUNDS / 2)];
    const speed = (run) => `${(megabytes / (run.all / 1000)).toFixed(0)} MB/s`;
    const plainSpeed = (fileMegabytes / (plain[Math.floor(ROUNDS / 2)] / 1000)).toFixed(0);
    const ratio = (middle.all / plain[Math.floor(ROUNDS / 2)]).toFixed(2);
    console.log(
      `${basename(path).padEnd(18)} ${megabytes.toFixed(0).padStart(5)} MB  median ${speed(middle)}, best ${speed(best)}, opened first ${speed(first)}, ` +
        `first report after ${best.first.toFixed(0)} ms; plain reading ${plainSpeed} MB/s, ${ratio} times as long as that`,
    );
    await page.context().close();
  }
} finally {
  await browser.close();
  await site.close();
}
