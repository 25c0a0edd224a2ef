// MB/s in Chromium's worker, from a File to the finished report: node tests/browser/bench.mjs FILE…
//
// Speaks the worker's own messages (src/engine/protocol.rs) past the page, so that only reading is measured.
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { launchBrowser, openPage, startSite } from './support.mjs';

const ROUNDS = 5;

/** Runs in the page: one worker, one file, milliseconds to the first and to the last report. */
async function measure(input) {
  const [file] = input.files;
  const worker = globalThis.tracedrop.startWorker();
  const name = new TextEncoder().encode(file.name);
  // Request::Open { file_name, query: Query { top: 10 } } in postcard.
  const open = new Uint8Array([0, name.length, ...name, 10]);
  const PROGRESS = 1;
  const DOCUMENT = 2;
  const FAILED = 3;
  return new Promise((resolve, reject) => {
    let first = 0;
    let finishing = false;
    let started = 0;
    worker.onerror = (event) => reject(new Error(event.message));
    worker.onmessage = ({ data: [message] }) => {
      const kind = message[0];
      if (!started) {
        started = performance.now();
        worker.postMessage([open, file]);
      }
      if (kind === PROGRESS) finishing ||= message.at(-1) === 1;
      if (kind === FAILED) reject(new Error('the file could not be read'));
      if (kind !== DOCUMENT) return;
      first ||= performance.now() - started;
      if (finishing) {
        worker.terminate();
        resolve({ first, all: performance.now() - started });
      }
    };
  });
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
    await page.evaluate(() => {
      const input = document.createElement('input');
      input.type = 'file';
      input.id = 'bench';
      document.body.append(input);
    });
    const input = await page.$('#bench');
    await input.setInputFiles(path);
    const runs = [];
    for (let round = 0; round < ROUNDS; round += 1) runs.push(await input.evaluate(measure));
    const megabytes = statSync(path).size / 1e6;
    runs.sort((a, b) => a.all - b.all);
    const best = runs[0];
    const middle = runs[Math.floor(ROUNDS / 2)];
    const speed = (run) => `${(megabytes / (run.all / 1000)).toFixed(0)} MB/s`;
    console.log(
      `${basename(path).padEnd(16)} ${megabytes.toFixed(0).padStart(5)} MB  median ${speed(middle)}, best ${speed(best)}, first report after ${best.first.toFixed(0)} ms`,
    );
    await page.context().close();
  }
} finally {
  await browser.close();
  await site.close();
}
