// Notes on a report, and the Tracedrop file that carries them.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NARROW, WIDE, accessibilityProblems, openPage, showReport, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();
const trace = fileURLToPath(new URL('../data/pytorch/small-bert-h100.json.gz', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'notes-'));
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const notes = (page) => panel(page).getByTestId('notes');
const texts = (page) => notes(page).locator('.notes-text').allTextContents();
const heading = (page) => panel(page).getByRole('heading', { level: 1 }).textContent();

async function opened(file, options = {}, hash = '') {
  const page = await openPage(given.browser, given.site.url + hash, options);
  await page.getByTestId('file-input').setInputFiles(file);
  await panel(page).locator('.file-head').waitFor();
  return page;
}


/** The table of that title in the visible report. */
const tableOf = (page, title) => panel(page).getByRole('grid', { name: title, exact: true });

/** Writes a note in the open dialog. */
async function write(page, text) {
  const dialog = page.getByRole('dialog', { name: 'New note' });
  await dialog.getByLabel('Note', { exact: true }).fill(text);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'hidden' });
}

/** A page with notes on a row and on a time range, and with a title. */
async function written() {
  const page = await opened(trace);
  await showReport(page, 'Slices by name');
  await panel(page).getByRole('button', { name: 'Add a note to a row of Slices by name' }).click();
  const dialog = page.getByRole('dialog', { name: 'New note' });
  const choices = await dialog.getByRole('combobox', { name: 'Attach to' }).locator('option').allTextContents();
  await dialog.getByRole('combobox', { name: 'Attach to' }).selectOption({ index: 2 });
  await write(page, 'why <b>so</b> often?\nsecond line');
  await notes(page).getByRole('button', { name: 'Add a note' }).click();
  await dialog.getByRole('combobox', { name: 'Attach to' }).selectOption('a time range');
  await dialog.getByText(/^Times count from the start of the trace, which is [\d.]+ ms long\./).waitFor();
  await dialog.getByLabel('from (ms)').fill('0.5');
  await dialog.getByLabel('to (ms)').fill('soon');
  await dialog.getByLabel('Note', { exact: true }).fill('warm-up');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('Enter milliseconds from the start of the trace').waitFor();
  await dialog.getByLabel('to (ms)').fill('2');
  await write(page, 'warm-up');
  await notes(page).getByRole('button', { name: 'Rename' }).click();
  const title = page.getByRole('dialog', { name: 'Title of the trace' });
  await title.getByRole('textbox').fill('Slow since <Tuesday>');
  await page.keyboard.press('Enter');
  await title.waitFor({ state: 'hidden' });
  return { page, place: choices[2] };
}

const exported = async (page, label) => {
  await page.evaluate(() => document.activeElement.blur());
  const download = page.waitForEvent('download');
  await page.keyboard.press('e');
  await page.getByRole('menuitem', { name: label }).click();
  const path = join(folder, (await download).suggestedFilename());
  await (await download).saveAs(path);
  return path;
};

/** Saves a Tracedrop file from the dialog. */
async function saved(page, { withAll, name }) {
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('h');
  await page.getByRole('menuitem', { name: 'Save as a Tracedrop file…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Save as a Tracedrop file' });
  const all = dialog.getByLabel(/^Include all trace data \(/);
  await all.waitFor();
  if (withAll) await all.check();
  await dialog.getByText(/small-bert-h100\.tracedrop: .*, with 2 notes/).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  // Trace data cannot be redacted.
  await dialog.getByLabel('symbols').check();
  await dialog.getByText(/so it is not included/).waitFor();
  assert.ok(await dialog.getByLabel(/^Include all trace data/).isDisabled());
  await dialog.getByLabel('symbols').uncheck();
  await dialog.getByText(/\.tracedrop: .*, with 2 notes/).waitFor();
  const download = page.waitForEvent('download');
  await dialog.getByRole('button', { name: 'Save' }).click();
  const path = join(folder, name);
  await (await download).saveAs(path);
  return path;
}

test('notes are at their rows and in one list, by keyboard and by pointer', async () => {
  const { page, place } = await written();
  assert.deepEqual(await texts(page), ['why <b>so</b> often?\nsecond line', 'warm-up']);
  assert.equal(await heading(page), 'Slow since <Tuesday>');
  assert.ok(await panel(page).locator('.file-name').getByText('small-bert-h100.json.gz').isVisible());
  await page.getByRole('tab', { name: 'Slow since <Tuesday>' }).waitFor();
  // The mark goes with its row when the table is sorted, and when another report was shown.
  const mark = tableOf(page, 'Slices by name').getByRole('button', { name: /^Note: why <b>so<\/b> often\?/ });
  const row = () => mark.locator('xpath=ancestor::tr').locator('td').first().textContent();
  const name = (await row()).trim();
  assert.ok(place.includes(name.slice(-12)), `${place} ${name}`);
  await tableOf(page, 'Slices by name').getByRole('button', { name: 'name', exact: true }).click();
  await notes(page).getByRole('button', { name: `On ${place}` }).click();
  await mark.waitFor();
  assert.equal((await row()).trim(), name);
  await showReport(page, 'Overview');
  await notes(page).getByRole('button', { name: `On ${place}` }).click();
  await mark.waitFor();
  // The mark leads to the note, which can be changed.
  await mark.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Edit note' });
  await dialog.getByLabel('Note', { exact: true }).fill('changed');
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'hidden' });
  assert.deepEqual(await texts(page), ['changed', 'warm-up']);
  // A time range leads to Perfetto.
  await notes(page).getByRole('button', { name: 'On 500.0 µs to 2.000 ms' }).click();
  const perfetto = page.getByRole('dialog', { name: 'Open in Perfetto' });
  assert.equal(await perfetto.getByLabel('from', { exact: true }).inputValue(), '0.5');
  assert.equal(await perfetto.getByLabel('to', { exact: true }).inputValue(), '2');
  await page.keyboard.press('Escape');
  await notes(page).getByRole('button', { name: 'Delete note 2' }).click();
  assert.deepEqual(await texts(page), ['changed']);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Add a note');
  // By the menu of a row. The way to the note has left its filter.
  await panel(page).getByRole('searchbox', { name: 'Filter Slices by name' }).first().fill('');
  const other = tableOf(page, 'Slices by name').locator('tbody tr').nth(3);
  await other.hover();
  await other.getByRole('button', { name: 'Row actions' }).click();
  await page.getByRole('menuitem', { name: 'Add a note' }).click();
  await write(page, 'by hand');
  assert.deepEqual(await texts(page), ['changed', 'by hand']);
  assert.deepEqual(await accessibilityProblems(page), []);
  assert.deepEqual(page.console, []);
  await page.context().close();
});

test('notes are included in a web page and in a link, and are back once the file is dropped', async () => {
  const { page } = await written();
  const html = readFileSync(await exported(page, 'HTML report (single file)'), 'utf8');
  for (const text of ['<h1>Slow since &lt;Tuesday&gt;</h1>', 'why &lt;b&gt;so&lt;/b&gt; often?', 'second line', 'warm-up', 'href="#note-1">Note 1</a>']) {
    assert.ok(html.includes(text), text);
  }
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.keyboard.press('h');
  await page.getByRole('menuitem', { name: 'Copy link to the results…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Copy link' });
  // The preview includes the texts of notes.
  await dialog.getByText('Preview exported text').click();
  await dialog.getByRole('searchbox').fill('warm-up');
  await dialog.getByText('Showing 1 of 1 text.').waitFor();
  await dialog.getByText(/^[\d,]+ characters\. Contains/).waitFor();
  await dialog.getByRole('button', { name: 'Copy link' }).click();
  await page.getByText('Link copied.').waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  await page.context().close();

  const receiver = await openPage(given.browser, link);
  await receiver.getByTestId('from-link').waitFor();
  assert.deepEqual(await texts(receiver), ['why <b>so</b> often?\nsecond line', 'warm-up']);
  assert.equal(await heading(receiver), 'Slow since <Tuesday>');
  await receiver.getByTestId('file-input').setInputFiles(trace);
  await receiver.getByText(/is the link's file: size and SHA-256 match/).waitFor();
  assert.deepEqual(await texts(receiver), ['why <b>so</b> often?\nsecond line', 'warm-up']);
  assert.deepEqual(receiver.console, []);
  await receiver.context().close();
});

test('a Tracedrop file shows what its sender saw, with and without the trace data', async () => {
  const { page } = await written();
  const filter = (page) => panel(page).getByRole('searchbox', { name: 'Filter Slices by name' }).first();
  await filter(page).fill('gemm');
  await panel(page).getByText(/^\d+ of \d+ rows/).first().waitFor();
  const count = await panel(page).getByText(/^\d+ of \d+ rows/).first().textContent();
  const files = {
    alone: await saved(page, { withAll: false, name: 'alone.tracedrop' }),
    all: await saved(page, { withAll: true, name: 'all.tracedrop' }),
  };
  await page.context().close();

  for (const [kind, path] of Object.entries(files)) {
    for (const [viewport, colorScheme] of [[NARROW, 'dark'], [WIDE, 'light']]) {
      const receiver = await opened(path, { viewport, colorScheme });
      assert.deepEqual(await texts(receiver), ['why <b>so</b> often?\nsecond line', 'warm-up'], kind);
      assert.equal(await heading(receiver), 'Slow since <Tuesday>');
      assert.ok(await panel(receiver).getByRole('heading', { name: 'Slices by name', exact: true }).first().isVisible());
      await panel(receiver).getByText(count, { exact: true }).first().waitFor();
      assert.equal(await filter(receiver).inputValue(), 'gemm');
      assert.equal(await receiver.getByTestId('from-link').count(), kind === 'alone' ? 1 : 0);
      assert.equal(await receiver.getByTestId('from-index').count(), kind === 'alone' ? 0 : 1);
      // Pictures are there without the trace.
      await showReport(receiver, 'GPU time');
      await panel(receiver).locator('.report:not([hidden]) .drawing').first().waitFor();
      await showReport(receiver, 'Slices by name');
      assert.deepEqual(await accessibilityProblems(receiver), []);
      assert.ok(await receiver.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      if (kind === 'alone' && viewport === WIDE) {
        await receiver.getByTestId('file-input').setInputFiles(trace);
        await receiver.getByText(/size and SHA-256 match/).waitFor();
        assert.deepEqual(await texts(receiver), ['why <b>so</b> often?\nsecond line', 'warm-up']);
        await panel(receiver).getByText(count, { exact: true }).first().waitFor();
      }
      assert.deepEqual(receiver.console, []);
      await receiver.context().close();
    }
  }
  // The command reads the same.
  const command = fileURLToPath(new URL('../../target/debug/tracedrop', import.meta.url));
  for (const path of Object.values(files)) {
    const told = execFileSync(command, ['report', '-q', path, '--report', 'slices'], { encoding: 'utf8' });
    assert.match(told, /Slow since <Tuesday>/);
    assert.match(told, /warm-up/);
  }
  // A file of notes that is none is refused with what is wrong and where.
  const odd = join(folder, 'odd.json');
  writeFileSync(odd, '{"notes": [{"text": "x"}, {"txt": "y"}]}');
  const refused = spawnSync(command, ['report', '-q', trace, '--notes', odd], { encoding: 'utf8' });
  assert.equal(refused.status, 2);
  assert.match(refused.stderr, /--notes: .*odd\.json: note 2 has no 'text'/);
});

/** With the libraries that people use, where `make readers` has installed them: each reads every table of an unpacked file. */
const READERS = `
import glob, json, sys
import duckdb, pandas, polars
for path in sorted(glob.glob(sys.argv[1] + '/tables/*.parquet')):
    frame, lazy = pandas.read_parquet(path), polars.read_parquet(path)
    [(rows,)] = duckdb.sql(f"select count(*) from '{path}'").fetchall()
    columns = [name for (name, *_) in duckdb.sql(f"describe from '{path}'").fetchall()]
    assert rows == len(frame) == lazy.height, path
    assert columns == list(frame.columns) == lazy.columns, path
    sums = {}
    for name in columns:
        if pandas.api.types.is_integer_dtype(frame[name]) and not frame[name].isna().any():
            [(of_duckdb,)] = duckdb.sql(f"select sum(\\"{name}\\") from '{path}'").fetchall()
            assert int(of_duckdb or 0) == sum(int(value) for value in frame[name]) == sum(lazy[name].to_list()), (path, name)
            sums[name] = int(of_duckdb or 0)
    print(json.dumps([path.rsplit('/', 1)[1], rows, sums]))
`;

test('DuckDB, pandas and Polars read the tables of a Tracedrop file', async (t) => {
  const python = fileURLToPath(new URL('../../target/readers/bin/python', import.meta.url));
  if (spawnSync(python, ['-c', 'import duckdb, pandas, polars, pyarrow']).status !== 0) return t.skip('make readers installs them');
  const { page } = await written();
  const path = await saved(page, { withAll: false, name: 'tables.tracedrop' });
  const slices = page.getByRole('navigation', { name: 'Reports' }).getByRole('button', { name: 'Slices by name', exact: true });
  await slices.click();
  const n_rows = Number((await panel(page).locator('.report:not([hidden]) .table-count').first().textContent()).match(/([\d,]+) rows/)[1].replaceAll(',', ''));
  await page.context().close();
  const unpacked = join(folder, 'tables');
  execFileSync('python3', ['-m', 'zipfile', '-e', path, unpacked]);
  const lines = execFileSync(python, ['-W', 'error', '-c', READERS, unpacked], { encoding: 'utf8' }).trim().split('\n').map((line) => JSON.parse(line));
  assert.ok(lines.length > 10, `${lines.length}`);
  const [, rows, sums] = lines.find(([name]) => name === 'slices.slices.parquet');
  assert.equal(rows, n_rows);
  assert.ok(sums.total > 0 && sums.count > rows);
});

test('truncated files show an error', async () => {
  const { page } = await written();
  const whole = readFileSync(await saved(page, { withAll: true, name: 'whole.tracedrop' }));
  await page.context().close();
  const cut = join(folder, 'cut.tracedrop');
  writeFileSync(cut, whole.subarray(0, whole.length / 2));
  const receiver = await openPage(given.browser, given.site.url);
  await receiver.getByTestId('file-input').setInputFiles(cut);
  await receiver.getByText(/incomplete Tracedrop file/i).first().waitFor();
  // Called a zip archive it is opened all the same.
  const renamed = join(folder, 'renamed.zip');
  writeFileSync(renamed, whole);
  await receiver.getByTestId('file-input').setInputFiles(renamed);
  await receiver.getByTestId('from-index').first().waitFor();
  assert.deepEqual(await texts(receiver), ['why <b>so</b> often?\nsecond line', 'warm-up']);
  assert.deepEqual(receiver.console, []);
  await receiver.context().close();
});

test('unsaved notes are not discarded without asking', async () => {
  const { page } = await written();
  const asked = page.getByRole('dialog', { name: 'Close Slow since <Tuesday>?' });
  const tabs = () => page.getByRole('tab').count();
  const close = async () => {
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('w');
  };
  // The browser asks before the page is left.
  let leaving = 0;
  page.on('dialog', async (dialog) => {
    assert.equal(dialog.type(), 'beforeunload');
    leaving += 1;
    await dialog.dismiss();
  });
  const leave = async () => {
    const before = leaving;
    await page.evaluate(() => setTimeout(() => location.reload(), 0)).catch(() => {});
    for (let at = 0; at < 40 && leaving === before; at += 1) await page.waitForTimeout(25);
    return leaving > before;
  };
  assert.ok(await leave());
  await close();
  await asked.getByText("2 notes and the title aren't saved in any file or link. Closing discards them.").waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.keyboard.press('Escape');
  await asked.waitFor({ state: 'hidden' });
  assert.equal(await tabs(), 1);
  // Saved notes may be discarded.
  await close();
  await asked.getByRole('button', { name: 'Save as a Tracedrop file…' }).click();
  const save = page.getByRole('dialog', { name: 'Save as a Tracedrop file' });
  const download = page.waitForEvent('download');
  await save.getByRole('button', { name: 'Save', exact: true }).click();
  await download;
  await notes(page).getByRole('button', { name: 'Add a note' }).click();
  await write(page, 'one more');
  await close();
  await asked.getByText("1 note isn't saved in any file or link. Closing discards it.").waitFor();
  await asked.getByRole('button', { name: 'Keep open' }).click();
  await exported(page, 'HTML report (single file)');
  assert.ok(!(await wouldAsk(page)));
  await close();
  await page.getByRole('tab').waitFor({ state: 'detached' });
  assert.deepEqual(page.console, []);
  await page.context().close();
});

/** Whether the browser would ask before this page is left. */
const wouldAsk = (page) =>
  page.evaluate(() => !dispatchEvent(new Event('beforeunload', { cancelable: true })));

test('Escape does not discard a note in progress', async () => {
  const page = await opened(trace);
  await notes(page).getByRole('button', { name: 'Add a note' }).click();
  const dialog = page.getByRole('dialog', { name: 'New note' });
  const text = dialog.getByLabel('Note', { exact: true });
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await notes(page).getByRole('button', { name: 'Add a note' }).click();
  await text.pressSequentially('halfw');
  assert.ok(await wouldAsk(page));
  // No matter how often it is pressed.
  for (let at = 0; at < 3; at += 1) await page.keyboard.press('Escape');
  await dialog.getByText('Your changes are not saved.').waitFor();
  assert.equal(await text.inputValue(), 'halfw');
  assert.deepEqual(await accessibilityProblems(page), []);
  await dialog.getByRole('button', { name: 'Keep editing' }).click();
  await page.keyboard.press('End');
  await page.keyboard.type('ay');
  assert.equal(await text.inputValue(), 'halfway');
  await page.mouse.click(5, 400);
  await dialog.getByRole('button', { name: 'Discard' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.deepEqual(await texts(page), []);
  assert.ok(!(await wouldAsk(page)));
  assert.deepEqual(page.console, []);
  await page.context().close();
});
