// Zip archives: run directories and traces in them open, and an exported run opens again.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { pageTests, showReport, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();
const pageTest = pageTests(given);
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const report = (page) => panel(page).locator('.report:not([hidden])');
const data = (path) => fileURLToPath(new URL(`../data/${path}`, import.meta.url));
const RUNS = { one: data('mrm/runs-latest/node-a/demo-model/demo_mem_rep1'), two: data('mrm/runs-latest/node-b/demo-model/demo_memsym_rep1') };

/** The CRC-32 of bytes: gzip has it near its end. */
const crc = (bytes) => gzipSync(bytes).readUInt32LE(gzipSync(bytes).length - 8);

/** An archive with files by their paths, compressed or not. */
function zip(files, { packed = true, flags = 0 } = {}) {
  const parts = [], heads = [];
  let at = 0;
  for (const [path, bytes] of Object.entries(files)) {
    const name = Buffer.from(path), body = packed ? deflateRawSync(bytes) : bytes;
    const head = Buffer.alloc(26);
    [20, flags, packed ? 8 : 0].forEach((value, i) => head.writeUInt16LE(value, 2 * i));
    [crc(bytes), body.length, bytes.length].forEach((value, i) => head.writeUInt32LE(value, 10 + 4 * i));
    head.writeUInt16LE(name.length, 22);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(at, 10);
    parts.push(Buffer.from('PK\x03\x04'), head, name, body);
    heads.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), head, tail, name);
    at += 30 + name.length + body.length;
  }
  const list = Buffer.concat(heads), end = Buffer.alloc(18);
  [Object.keys(files).length, Object.keys(files).length].forEach((n, i) => end.writeUInt16LE(n, 4 + 2 * i));
  [list.length, at].forEach((value, i) => end.writeUInt32LE(value, 8 + 4 * i));
  return Buffer.concat([...parts, list, Buffer.from('PK\x05\x06'), end]);
}

/** Files of a run, in a folder of the archive. */
const run = (dir, folder) => Object.fromEntries(readdirSync(dir).map((name) => [`${folder}${name}`, readFileSync(`${dir}/${name}`)]));
const pick = (page, name, buffer) => page.getByTestId('file-input').setInputFiles({ name, mimeType: 'application/zip', buffer });
const open = showReport;
const summary = (page) => report(page).locator('.report-summary').textContent();

for (const packed of [true, false]) {
  pageTest(`a run in ${packed ? 'a compressed' : 'an uncompressed'} archive opens, and so does its export`, async (page) => {
    await pick(page, 'results.zip', zip(run(RUNS.one, 'demo_mem_rep1/'), { packed }));
    await panel(page).locator('.file-head').waitFor();
    assert.equal(await page.getByRole('tab').first().textContent().then((text) => text.includes('demo_mem_rep1')), true);
    await open(page, 'Run directory');
    assert.equal(await summary(page), 'All 6 files match the manifest.');
    await open(page, 'Memory by kind');
    const before = await summary(page);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByRole('menuitem', { name: /^mrm-trace run directory/ }).click();
    const saved = await download;
    assert.equal(saved.suggestedFilename(), 'demo_mem_rep1.zip');
    await page.getByTestId('file-input').setInputFiles(await saved.path().then((path) => ({ name: 'again.zip', mimeType: '', buffer: readFileSync(path) })));
    await page.getByRole('tab').nth(1).waitFor();
    await panel(page).locator('.file-head').waitFor();
    assert.equal(await summary(page), before);
    await open(page, 'Run directory');
    assert.match(await summary(page), /^All \d+ files match the manifest\.$/);
    await report(page).getByText('write_once.svg').waitFor();
  });
}

pageTest('several runs in one archive are combined', async (page) => {
  await pick(page, 'results.zip', zip({ ...run(RUNS.one, 'a/'), ...run(RUNS.two, 'b/') }));
  await panel(page).locator('.file-head').waitFor();
  await open(page, 'Run directory');
  assert.equal(await summary(page), '2 runs, both valid.');
});

pageTest('another kind of trace in an archive opens; other files are listed', async (page) => {
  const files = { '../logs/hand_flows.json': readFileSync(data('chrome/hand_flows.json')), 'logs/README': Buffer.from('nothing') };
  await pick(page, 'logs.zip', zip(files));
  await page.getByRole('alert').getByText('Skipped in logs.zip (not named like traces): logs/README.').waitFor();
  await panel(page).locator('.file-head').waitFor();
  assert.match(await page.getByRole('tab').first().textContent(), /hand_flows\.json/);
});

pageTest('unreadable archives show the reason', async (page) => {
  await pick(page, 'secret.zip', zip(run(RUNS.one, 'run/'), { flags: 1 }));
  await page.getByRole('alert').getByText(/Skipped in secret\.zip: .*trace\.parquet \(it is encrypted\)/).waitFor();
  await page.getByRole('alert').getByText('No traces found in secret.zip.').waitFor();
  await pick(page, 'cut.zip', zip(run(RUNS.one, 'run/')).subarray(0, 5000));
  await page.getByRole('alert').getByText('Cannot open cut.zip: the archive has no file list at its end').waitFor();
  // A trace misnamed as .zip opens as a trace.
  await pick(page, 'trace.zip', readFileSync(data('chrome/hand_flows.json')));
  await panel(page).locator('.file-head').waitFor();
});
