// Several files combined: ranks of a distributed run, folders, files of one kind.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { inputWith, readInWorker } from './protocol.mjs';
import { NARROW, WIDE, accessibilityProblems, drop, openPage, pageTests, release, showReport, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();
const pageTest = pageTests(given);
const root = fileURLToPath(new URL('../..', import.meta.url));
const command = join(root, 'target/debug/tracedrop');
const own = join(root, 'tests/data/pytorch/dlrm8');
const corpus = join(root, '../shared/corpus/pytorch');
const RANKS = ['rank0.json.gz', 'rank1.json.gz'];
const PATHS = RANKS.map((name) => join(own, name));

const tabNames = (page) => page.locator('.tab-name').allTextContents();
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const report = (page) => panel(page).locator('.report:not([hidden])');
const pick = (page, files) => page.getByTestId('file-input').setInputFiles(files);
/** Waits until the visible tab is parsed; returns its title and parse summary. */
async function read(page) {
  await panel(page).locator('.file-head').waitFor({ timeout: 120_000 });
  return [await panel(page).locator('h1').textContent(), await panel(page).locator('.verdict p').first().textContent()];
}
const slices = (n) => Buffer.from(JSON.stringify(Array.from({ length: n }, (_, i) => ({ name: `op ${i}`, ph: 'X', ts: i, dur: 1, pid: 1, tid: 1 }))));
const file = (name, buffer) => ({ name, mimeType: 'application/octet-stream', buffer });

/** A folder with two ranks, one in a subfolder, and files that are not traces. */
function folder(names = [RANKS[0], `node1/${RANKS[1]}`]) {
  const folder = join(mkdtempSync(join(tmpdir(), 'tracedrop-')), 'runs');
  mkdirSync(join(folder, 'node1'), { recursive: true });
  names.forEach((name, at) => cpSync(PATHS[at], join(folder, name)));
  writeFileSync(join(folder, 'notes.md'), 'remember the milk');
  writeFileSync(join(folder, 'node1', 'log.out'), 'all is well');
  return folder;
}

pageTest('ranks are combined into one run in one tab, and each file opens alone on request', async (page) => {
  await pick(page, [PATHS[1], PATHS[0]]);
  const [title, verdict] = await read(page);
  assert.equal(title, '2 ranks');
  assert.match(verdict, /^Parsed all \d/);
  assert.deepEqual(await tabNames(page), ['2 ranks']);
  assert.equal(await page.title(), '2 ranks – Tracedrop');
  assert.equal(await report(page).getByRole('heading', { level: 2 }).textContent(), 'Findings');
  assert.match(await report(page).locator('.report-summary').textContent(), /^2 ranks; \d+\.\d% of collective time is waiting/);
  const bars = report(page).getByRole('img', { name: 'Time breakdown by rank' });
  await bars.waitFor();
  assert.ok((await bars.locator('text').allTextContents()).includes('rank 1'));
  await showReport(page, 'Ranks');
  const arrivals = report(page).getByRole('img', { name: 'Arrival at collectives' });
  await arrivals.locator('path').nth(1).waitFor({ state: 'attached' });
  assert.equal(await arrivals.locator('path').count(), 2);
  // Each file has its own parsing details.
  await panel(page).getByRole('button', { name: 'Parsing details', exact: true }).click();
  assert.deepEqual(await panel(page).locator('.file-account h3').allTextContents(), RANKS);
  assert.deepEqual(await panel(page).locator('.file-rank').allTextContents(), ['rank 0', 'rank 1']);
  for (const table of await panel(page).locator('.account').all()) {
    const cells = await table.locator('tbody td:last-child, tfoot tr:first-child td:last-child').allTextContents();
    const numbers = cells.map((text) => Number(text.replaceAll(',', '')));
    const total = numbers.pop();
    assert.equal(numbers.reduce((sum, n) => sum + n, 0), total);
  }
  const openSecond = () => panel(page).getByRole('button', { name: 'Open alone' }).nth(1).click();
  await openSecond();
  const isAlone = page.locator(`[role=tab][title="${RANKS[1]}"][aria-selected=true]`);
  await isAlone.waitFor();
  assert.deepEqual((await read(page))[0], RANKS[1]);
  await page.keyboard.press('1');
  await page.locator('[role=tab][title="2 ranks"][aria-selected=true]').waitFor();
  // A file that is open already is shown.
  await openSecond();
  await isAlone.waitFor();
  assert.deepEqual(await tabNames(page), ['2 ranks', RANKS[1]]);
});

pageTest('a report with many parts of each rank shows those of one, chosen for all reports, and of all on request', async (page) => {
  await pick(page, PATHS);
  await read(page);
  const titles = async () => (await report(page).locator('.turn h3').allTextContents()).map((title) => title.trim());
  const areOf = async (name) => {
    const all = await titles();
    assert.ok(all.length > 4 && all.every((title) => title.endsWith(`: ${name}`)), all.join(' | '));
  };
  const choice = report(page).locator('.choice-file select');
  await showReport(page, 'Idle and launch');
  assert.equal(await choice.inputValue(), RANKS[0]);
  await areOf(RANKS[0]);
  await choice.selectOption(RANKS[1]);
  await report(page).getByRole('heading', { name: `Launches: ${RANKS[1]}`, exact: true }).waitFor();
  await areOf(RANKS[1]);
  assert.match(page.url(), /&file=rank1\.json\.gz/);
  assert.ok((await panel(page).locator('.report-headings bdi').allTextContents()).includes('Launches'));
  // The choice holds for the other reports; a report on all ranks together has none.
  await showReport(page, 'Kernels');
  assert.ok((await titles()).every((title) => title.endsWith(`: ${RANKS[1]}`)));
  await showReport(page, 'Ranks');
  assert.equal(await choice.count(), 0);
  await showReport(page, 'Idle and launch');
  await choice.selectOption('All 2 files');
  await report(page).getByRole('heading', { name: `Launches: ${RANKS[0]}`, exact: true }).waitFor();
  await report(page).getByRole('heading', { name: `Launches: ${RANKS[1]}`, exact: true }).waitFor();
  await page.goBack();
  await page.goBack();
  await page.goBack();
  // A table of another file that one is led to brings its file.
  await choice.selectOption(RANKS[0]);
  await page.keyboard.press('Control+k');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('searchbox').fill('cudaLaunchKernel');
  await dialog.getByRole('group', { name: `Launches: ${RANKS[1]}` }).getByRole('option').first().click();
  await report(page).getByRole('heading', { name: `Launches: ${RANKS[1]}`, exact: true }).waitFor();
  assert.equal(await choice.inputValue(), RANKS[1]);
});

pageTest('large files of a run, plain and compressed, are parsed one after the other with the same helpers', async (page) => {
  const events = (n, seed) =>
    Array.from({ length: n }, (_, i) => ({ name: `op ${(i * 7919 + seed) % 1009}`, cat: 'cpu_op', ph: 'X', ts: i * 3, dur: 1 + ((i * 31 + seed) % 89) / 31, pid: 1, tid: 1 }));
  const rank = (n, seed) => Buffer.from(JSON.stringify({ distributedInfo: { backend: 'nccl', rank: seed, world_size: 3 }, traceEvents: events(n, seed) }));
  const plain = [rank(120_000, 0), rank(130_000, 1)];
  const packed = gzipSync(rank(140_000, 2), { level: 1 });
  assert.ok(plain.every(({ length }) => length > 9e6) && packed.length > 1.2e6, `${plain.map(({ length }) => length)} ${packed.length}`);
  await pick(page, [file('rank0.json', plain[0]), file('rank1.json', plain[1]), file('rank2.json.gz', packed)]);
  const [title, verdict] = await read(page);
  assert.equal(title, '3 ranks');
  assert.match(verdict, /^Parsed 390,000 events/);
});

pageTest('files whose metadata names one run are combined, whatever their names', async (page) => {
  await pick(page, PATHS.map((path, at) => file(`host${at}_1694.pt.trace.json.gz`, readFileSync(path))));
  await page.getByRole('status').getByText('These 2 files belong to one run').waitFor({ timeout: 120_000 });
  await page.waitForFunction(() => [...document.querySelectorAll('.tab-name')].some((tab) => tab.textContent === '2 ranks'), null, { timeout: 120_000 });
  // The visible file stays in front.
  assert.equal(await panel(page).locator('h1').textContent(), 'host1_1694.pt.trace.json.gz');
  await page.keyboard.press('3');
  assert.equal((await read(page))[0], '2 ranks');
});

pageTest('an unreadable file is reported and skipped', async (page) => {
  await pick(page, [...PATHS.map((path, at) => file(RANKS[at], readFileSync(path))), file('rank2.json.gz', Buffer.from('remember the milk'))]);
  const [title, verdict] = await read(page);
  assert.equal(title, '2 ranks');
  assert.match(verdict, /^Parsed 2 of 3 files: [\d,]+ events$/);
  assert.match(await page.getByTestId('left-out').textContent(), /^rank2\.json\.gz was skipped: unrecognized trace format/);
  assert.match(await report(page).locator('.report-summary').textContent(), /^2 ranks/);
});

pageTest('when no file can be read, each error is shown', async (page) => {
  await pick(page, [file('rank0.json', Buffer.from('milk')), file('rank1.json', Buffer.from(''))]);
  const alert = panel(page).getByRole('alert');
  await alert.getByRole('heading', { name: 'These files could not be read' }).waitFor();
  assert.match(await alert.textContent(), /rank0\.json: .*rank1\.json: /);
});

pageTest('loose ranks that are dropped, and a folder of ranks that is chosen, open one tab each', async (page) => {
  await drop(page, PATHS);
  assert.equal((await read(page))[0], '2 ranks');
  assert.deepEqual(await tabNames(page), ['2 ranks']);
  await page.keyboard.press('w');
  await page.locator('[role=tab]').waitFor({ state: 'detached' });
  await page.getByTestId('folder-input').setInputFiles(own);
  assert.equal((await read(page))[0], '2 ranks');
  assert.deepEqual(await tabNames(page), ['2 ranks']);
});

pageTest('the traces in a dropped folder are combined; other files are listed', async (page) => {
  const runs = folder();
  await drop(page, [runs]);
  await page.getByRole('alert').getByText('Skipped in folder runs (not named like traces): node1/log.out, notes.md.').waitFor();
  assert.equal((await read(page))[0], '2 ranks');
  assert.deepEqual(await tabNames(page), ['2 ranks']);
  rmSync(join(runs, '..'), { recursive: true });
});

pageTest('a shortcut opens a folder; files of the same name are shown with their folders', async (page) => {
  const runs = folder(['same.json.gz', 'node1/same.json.gz']);
  const chosen = page.waitForEvent('filechooser');
  // Let the browser register the file chooser.
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
  await page.keyboard.press('f');
  await (await chosen).setFiles(runs);
  assert.equal((await read(page))[0], '2 ranks');
  assert.deepEqual(await tabNames(page), ['2 ranks']);
  await panel(page).getByRole('button', { name: 'Parsing details', exact: true }).click();
  assert.deepEqual(await panel(page).locator('.file-account h3').allTextContents(), ['node1/same.json.gz', 'same.json.gz']);
  rmSync(join(runs, '..'), { recursive: true });
});

pageTest('the menu opens a folder', async (page) => {
  const runs = folder();
  const chosen = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'More ways to open' }).click();
  await page.getByRole('menuitem', { name: 'Open a folder' }).press('Enter');
  await (await chosen).setFiles(runs);
  assert.equal((await read(page))[0], '2 ranks');
  await page.getByRole('alert').getByText('node1/log.out, notes.md').waitFor();
  rmSync(join(runs, '..'), { recursive: true });
});

pageTest('a run directory opens as one run with its other files; several are a data set', async (page) => {
  const mrm = join(root, 'tests/data/mrm');
  await page.getByTestId('folder-input').setInputFiles(join(mrm, 'runs-bad/tampered'));
  assert.equal((await read(page))[0], 'tampered');
  assert.deepEqual(await tabNames(page), ['tampered']);
  assert.match(await report(page).textContent(), /2 files in the run directory differ from its manifest/);
  await showReport(page, 'Run directory');
  assert.equal(await report(page).locator('.report-summary').textContent(), '2 of 5 files differ from the manifest.');
  await report(page).locator('.table').first().getByText('trace.parquet').first().waitFor();
  assert.match(await report(page).locator('.table').first().textContent(), /trace\.parquet✓ ok/);
  await page.getByTestId('folder-input').setInputFiles(join(mrm, 'runs-latest'));
  await page.locator('[role=tab][title="2 runs"][aria-selected=true]').waitFor();
  await read(page);
  await showReport(panel(page), 'Run directory');
  assert.equal(await report(page).locator('.report-summary').textContent(), '2 runs, both valid.');
  // The list of the runs in the parent folder is read with them.
  assert.match(await report(page).textContent(), /Dataset list vs runs/);
  assert.equal(await page.getByText('not named like traces').count(), 0);
});

pageTest('other files of one kind are combined on request', async (page) => {
  await pick(page, [file('a.json', slices(3)), file('b.json', slices(4))]);
  await page.getByTestId('fellows').first().waitFor({ state: 'attached' });
  await page.locator('[role=tab][title="a.json ↔ b.json"][aria-selected=true]').waitFor();
  assert.deepEqual(await tabNames(page), ['a.json', 'b.json', 'a.json ↔ b.json']);
  await page.keyboard.press('2');
  assert.equal(await panel(page).getByTestId('fellows').textContent(), 'Opened 2 files of this kind. Open as one run');
  await page.getByRole('button', { name: 'More ways to open' }).click();
  await page.keyboard.press('End');
  await page.getByRole('menuitem', { name: 'Open all 2 as one run' }).press('Enter');
  const [title, verdict] = await read(page);
  assert.deepEqual([title, verdict], ['2 files', 'Parsed all 7 events']);
  assert.equal(await panel(page).getByTestId('fellows').count(), 0);
});

pageTest('Stop ends parsing several files; files not reached are listed', async (page) => {
  const folder = mkdtempSync(join(tmpdir(), 'tracedrop-'));
  const paths = [0, 1, 2].map((rank) => join(folder, `rank${rank}.json`));
  const many = slices(400_000);
  for (const path of paths) writeFileSync(path, many);
  await pick(page, paths);
  await panel(page).getByTestId('reading-file').getByText('File 1 of 3').waitFor();
  await panel(page).getByRole('button', { name: 'Stop' }).click();
  await read(page);
  assert.match(await page.getByTestId('left-out').textContent(), /rank2\.json was skipped: parsing was stopped before this file\./);
  rmSync(folder, { recursive: true });
}, { slowReading: true });

pageTest('while several files are parsed, the reports cover all files so far', async (page) => {
  const folder = mkdtempSync(join(tmpdir(), 'tracedrop-'));
  const paths = [0, 1, 2].map((rank) => join(folder, `rank${rank}.json`));
  for (const path of paths) writeFileSync(path, slices(110_000));
  await pick(page, paths);
  // One worker reads a file of less than 8 MiB. The rest of each is held until the report on what was parsed before it is shown.
  for (const n of [1, 2, 3]) {
    // Once there are reports, the card shows less.
    const current = panel(page).getByTestId('reading-file').getByText(`File ${n} of 3`);
    await current.waitFor({ state: 'attached' });
    await report(page).locator('.report-head .badge').getByText('so far', { exact: true }).waitFor();
    await report(page).locator('table').first().waitFor({ state: 'attached' });
    assert.equal(await current.count(), 1);
    await release(page, n);
  }
  assert.match((await read(page))[1], /^Parsed all 330,000 events/);
  rmSync(folder, { recursive: true });
}, { slowReading: 'held' });

const collections = { 'tests/data': PATHS };
if (existsSync(corpus)) {
  collections.corpus = Array.from({ length: 8 }, (_, rank) => join(corpus, 'dlrm8', `rank${rank}.json.gz`));
  collections['corpus, sampled'] = [0, 1].map((rank) => join(corpus, `sampled-rank${rank}.json.gz`));
}
for (const [name, paths] of Object.entries(collections)) {
  test(`${name}: exports of combined ranks equal the output of the command`, { timeout: 300_000 }, async () => {
    const exporters = ['markdown', 'json', 'csv', 'terminal'];
    const page = await openPage(given.browser, given.site.url);
    const input = await inputWith(page, paths);
    const { exported } = await input.evaluate(readInWorker, { together: true, exporters: [...exporters, 'chrome-trace', 'index'] });
    for (const exporter of exporters) {
      const args = ['report', '--together', '--format', exporter, ...paths];
      const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 30 });
      assert.equal(status, 0, stderr);
      // The command adds a final newline where the format has none.
      assert.ok([exported[exporter], `${exported[exporter]}\n`].includes(stdout), `${exporter} differs`);
    }
    const trace = JSON.parse(exported['chrome-trace']);
    assert.ok(trace.traceEvents.length > 1000);
    // An index contains one trace.
    assert.equal(exported.index, null);
    await page.context().close();
  });
}

for (const colorScheme of ['light', 'dark']) {
  for (const [name, viewport] of Object.entries({ wide: WIDE, narrow: NARROW })) {
    pageTest(`axe finds nothing where files are combined, ${colorScheme}, ${name}`, async (unused) => {
      await unused.close();
      const page = await openPage(given.browser, given.site.url, { colorScheme, viewport });
      assert.equal((await accessibilityProblems(page)).join('\n'), '', 'start');
      await pick(page, [...PATHS.map((path, at) => file(RANKS[at], readFileSync(path))), file('rank2.json.gz', Buffer.from('milk'))]);
      await read(page);
      assert.equal((await accessibilityProblems(page)).join('\n'), '', 'ranks');
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await page.getByRole('button', { name: 'More ways to open' }).click();
      await page.getByRole('menu').waitFor();
      assert.equal((await accessibilityProblems(page)).join('\n'), '', 'menu');
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'menu');
      await page.context().close();
    });
  }
}
