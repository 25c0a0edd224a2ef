// Comparing A and B: opening, swapping, exporting.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMMAND, NARROW, accessibilityProblems, openPage, pageTests, siteAndBrowser } from './support.mjs';
import { test } from 'node:test';

const given = siteAndBrowser();
const pageTest = pageTests(given);
const root = fileURLToPath(new URL('../..', import.meta.url));
const gpu = (name) => join(root, `tests/data/pytorch/${name}.json.gz`);
const [A, B] = [gpu('small-bert-h100'), gpu('small-bert-mi300')];

const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const report = (page) => panel(page).locator('.report:not([hidden])');
const side = (page, letter) => panel(page).getByTestId(`side-${letter}`).getByRole('heading');
const pick = (page, files) => page.getByTestId('file-input').setInputFiles(files);
const file = (name, text) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(text) });
const slices = (names, dur) => JSON.stringify(names.map((name, i) => ({ name, ph: 'X', ts: 100 * i, dur, pid: 1, tid: 1 })));
const names = (page) => page.locator('.tab-name').allTextContents();
const wait = (page, title) => page.locator(`[role=tab][title="${title}"][aria-selected=true]`).waitFor({ timeout: 120_000 });

/** Drops files at a height of the window. */
function drop(page, files, y) {
  return page.evaluate(
    ([files, y]) => {
      const data = new DataTransfer();
      for (const [name, text] of files) data.items.add(new File([text], name));
      for (const type of ['dragover', 'drop']) {
        document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true, clientX: 300, clientY: y }));
      }
    },
    [files, y],
  );
}

/** File name and content of an export. */
async function exported(page, title) {
  const download = page.waitForEvent('download');
  await page.keyboard.press('e');
  await page.getByRole('menuitem', { name: title }).click();
  const file = await download;
  return [file.suggestedFilename(), readFileSync(await file.path(), 'utf8')];
}

/** Output of the command. */
function compared(...args) {
  const { status, stdout, stderr } = spawnSync(COMMAND, ['compare', ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.equal(status, 0, stderr);
  return stdout;
}

pageTest('two traces of the same kind are compared, swapped and exported as by the command', async (page) => {
  await pick(page, [A, B]);
  await wait(page, 'small-bert-h100.json.gz ↔ small-bert-mi300.json.gz');
  assert.deepEqual([await side(page, 'a').textContent(), await side(page, 'b').textContent()], ['small-bert-h100.json.gz', 'small-bert-mi300.json.gz']);
  const summary = () => report(page).locator('.report-summary').textContent();
  const before = await summary();
  const first = report(page).locator('.finding').first();
  assert.match(await first.locator('.finding-time').textContent(), /^[+−]\d/);
  // Every finding links to its rows.
  await first.getByRole('button').click();
  // The only one is selected, and has the focus.
  await page.locator('.table tr[aria-selected=true]:focus').waitFor();

  const [name, markdown] = await exported(page, 'Markdown');
  assert.equal(name, 'small-bert-h100-against-small-bert-mi300.md');
  assert.equal(markdown.trimEnd(), compared(A, B, '--format', 'markdown').trimEnd());
  const [, json] = await exported(page, 'JSON');
  assert.deepEqual(JSON.parse(json).reports, JSON.parse(compared(A, B, '--format', 'json')).reports);

  await page.keyboard.press('x');
  await wait(page, 'small-bert-mi300.json.gz ↔ small-bert-h100.json.gz');
  assert.equal(await side(page, 'a').textContent(), 'small-bert-mi300.json.gz');
  assert.notEqual(await summary(), before);
  const [, swapped] = await exported(page, 'CSV');
  assert.equal(swapped.trimEnd(), compared(B, A, '--format', 'csv').trimEnd());
  assert.deepEqual(await accessibilityProblems(page), []);
  // A comparison survives closing the tabs of A and B.
  await page.keyboard.press('1');
  await page.keyboard.press('w');
  await page.keyboard.press('w');
  await page.keyboard.press('x');
  await wait(page, 'small-bert-h100.json.gz ↔ small-bert-mi300.json.gz');
  assert.equal(await summary(), before);
});

pageTest('a file dropped on the lower half of a report becomes B', async (page) => {
  await pick(page, file('one.json', slices(['a', 'b'], 10)));
  await panel(page).locator('.file-head').waitFor();
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(['[]'], 'x.json'));
    document.body.dispatchEvent(new DragEvent('dragover', { dataTransfer: data, bubbles: true, cancelable: true, clientX: 300, clientY: 700 }));
  });
  await page.locator('.drop-overlay-over').getByText('as B (A is one.json)').waitFor();
  await drop(page, [['two.json', slices(['b', 'c'], 30)]], 700);
  await wait(page, 'one.json ↔ two.json');
  assert.match(await report(page).locator('.report-summary').textContent(), /20\.00 µs in A, 60\.00 µs in B \(\+200\.0%\)/);
  // On the upper half it is just opened.
  await drop(page, [['three.json', slices(['c'], 5)]], 100);
  await wait(page, 'three.json');
  assert.deepEqual(await names(page), ['one.json', 'two.json', 'one.json ↔ two.json', 'three.json']);
});

pageTest('the menu compares with other tabs by keyboard, and says why different kinds cannot be compared', async (page) => {
  await pick(page, file('one.json', slices(['a', 'b'], 10)));
  await panel(page).locator('.file-head').waitFor();
  await pick(page, join(root, 'tests/data/sway/coercions.jsonl'));
  await wait(page, 'coercions.jsonl');
  await panel(page).locator('.file-head').waitFor();
  await page.keyboard.press('c');
  await page.getByRole('menuitem', { name: 'Compare with one.json' }).press('Enter');
  const alert = panel(page).getByRole('alert');
  await alert.getByRole('heading', { name: 'Cannot compare these traces' }).waitFor();
  assert.match(await alert.textContent(), /nothing in common to compare: A contains .*\(sway\), B contains .*\(chrome-trace\)/);
  // The other way: choosing a file.
  await page.keyboard.press('1');
  await panel(page).getByTestId('compare-input').setInputFiles(file('two.json', slices(['a'], 10)));
  await wait(page, 'one.json ↔ two.json');
  assert.equal(await side(page, 'a').textContent(), 'one.json');
});

pageTest('an unreadable file is not compared', async (page) => {
  await pick(page, file('one.json', slices(['a'], 10)));
  await panel(page).locator('.file-head').waitFor();
  await panel(page).getByTestId('compare-input').setInputFiles(file('notes.txt', 'remember the milk'));
  await panel(page).getByRole('alert').getByRole('heading', { level: 1 }).waitFor();
  assert.deepEqual(await names(page), ['one.json', 'notes.txt']);
});

test('on a phone A is above B and nothing is cut off', async () => {
  const page = await openPage(given.browser, given.site.url, { viewport: NARROW, colorScheme: 'dark' });
  await pick(page, [A, B]);
  await page.getByTestId('sides').waitFor({ timeout: 120_000 });
  const boxes = await Promise.all(['a', 'b'].map((letter) => panel(page).getByTestId(`side-${letter}`).boundingBox()));
  assert.ok(boxes[0].y + boxes[0].height <= boxes[1].y);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.context().close();
});
