// A trace of 100 MB, which several workers read: its exact numbers, read off the page.
import assert from 'node:assert/strict';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { OUTPUT, openPage, siteAndBrowser, waitUntilReady } from './support.mjs';

const given = siteAndBrowser();
const PLAIN = `${OUTPUT}/100-megabytes.json`;
const PACKED = `${PLAIN}.gz`;
const BYTES = 100e6;
const N_NAMES = 11;

/** By name: how many slices, their time and their time without that of others inside them, in nanoseconds. */
const expected = new Map();
let nEvents = 0;

function add(name, total, self) {
  const row = expected.get(name) ?? { count: 0, total: 0, self: 0 };
  expected.set(name, { count: row.count + 1, total: row.total + total, self: row.self + self });
  nEvents += 1;
}

/** Parents with two children each, now and then with texts and arguments that look like events. */
function* blocks() {
  yield '{"schemaVersion": 1, "traceEvents": [\n';
  let bytes = 0;
  for (let i = 0; bytes < BYTES; i += 1) {
    const name = `parent ${i % N_NAMES}`;
    const [ts, tid] = [1000 + i * 20, 1 + (i % 3)];
    const odd = i % 97 === 0 ? ', {\\"name\\":\\"no\\",\\"ph\\":\\"X\\",\\"ts\\":1}, {' : '';
    const args = `{"External id": ${i}, "list": [{"name": "x", "ph": "X", "ts": 1, "dur": 5}, {"a": "}],[{"}], "text": "${odd}"}`;
    const event = (name, ts, dur, args) =>
      `  {\n    "ph": "X", "cat": "cpu_op", "name": "${name}", "pid": 7, "tid": ${tid},\n    "ts": ${ts}.250, "dur": ${dur}.125,\n    "args": ${args}\n  }`;
    const text = `${i > 0 ? ',\n' : ''}${event(name, ts, 15, args)},\n${event('child', ts + 1, 4, '{}')},\n${event('child', ts + 6, 2, '{"b": [1, 2]}')}`;
    add(name, 15_125, 15_125 - 4_125 - 2_125);
    add('child', 4_125, 4_125);
    add('child', 2_125, 2_125);
    bytes += text.length;
    yield text;
  }
  yield '\n], "distributedInfo": {"rank": 3}, "traceName": "made up"}\n';
}

before(async () => {
  await mkdir(OUTPUT, { recursive: true });
  const out = createWriteStream(PLAIN);
  for (const block of blocks()) if (!out.write(block)) await once(out, 'drain');
  out.end();
  await once(out, 'finish');
  await writeFile(PACKED, gzipSync(await readFile(PLAIN), { level: 1 }));
});
after(() => Promise.all([rm(PLAIN, { force: true }), rm(PACKED, { force: true })]));

const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const count = (n) => n.toLocaleString('en-US');

/** What the page says of the file must be exact. */
async function check(page) {
  await panel(page).locator('.file-head').waitFor({ timeout: 60_000 });
  assert.match(await panel(page).locator('.verdict p').textContent(), new RegExp(`^Everything was read: ${count(nEvents)} events`));
  await page.getByRole('navigation', { name: 'Reports' }).getByRole('button', { name: 'Slices by name', exact: true }).click();
  const table = panel(page).locator('.report:not([hidden]) section.table').first();
  // The texts in cells are rounded; the clipboard has all digits.
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await table.getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('menuitem', { name: 'CSV' }).click();
  await page.locator('.toast').first().waitFor();
  const [header, ...lines] = (await page.evaluate(() => navigator.clipboard.readText())).trim().split(/\r?\n/);
  const at = (label) => header.split(',').findIndex((text) => text.startsWith(label));
  const rows = lines.map((line) => line.split(','));
  assert.equal(rows.length, expected.size);
  for (const [name, { count, total, self }] of expected) {
    const row = rows.find((row) => row[at('name')] === name);
    const found = ['count', 'total', 'self'].map((label) => Number(row[at(label)]));
    assert.deepEqual(found, [count, total, self], name);
  }
}

function largeTest(name, run) {
  test(name, { timeout: 120_000 }, async () => {
    const page = await openPage(given.browser, given.site.url);
    await run(page);
    assert.deepEqual(page.console, []);
    assert.deepEqual(page.violations, []);
    await page.context().close();
  });
}

largeTest('100 MB: the numbers are exact', async (page) => {
  await page.getByTestId('file-input').setInputFiles(PLAIN);
  await check(page);
  await page.getByRole('navigation', { name: 'Reports' }).getByRole('button', { name: 'Longest slices', exact: true }).click();
  // Arguments are read back from the file.
  assert.match(await panel(page).locator('.report:not([hidden]) tbody').first().textContent(), /External id/);
});

largeTest('100 MB, packed: the numbers are the same', async (page) => {
  await page.getByTestId('file-input').setInputFiles(PACKED);
  await check(page);
});

for (const [path, what] of [[PLAIN, 'reads'], [PACKED, 'unpacks']]) {
  largeTest(`a worker that ${what} for another may end: the numbers are the same`, async (page) => {
    await page.addInitScript(() => {
      globalThis.workers = [];
      globalThis.Worker = class extends globalThis.Worker {
        constructor(...given) {
          super(...given);
          globalThis.workers.push(this);
        }
      };
    });
    await page.reload();
    await waitUntilReady(page);
    await page.getByTestId('file-input').setInputFiles(path);
    await panel(page).locator('.reading').waitFor();
    // The first worker reads, the others help.
    await page.evaluate(() => {
      for (const worker of globalThis.workers.slice(1)) {
        worker.terminate();
        worker.dispatchEvent(new ErrorEvent('error', { message: 'unreachable executed', cancelable: true }));
      }
    });
    await check(page);
  });
}
